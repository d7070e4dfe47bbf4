import { builtInModels } from "./built-in-models.ts";
import type { ModelProfile, ProfilePart, ReadProfile } from "./model-profile.ts";

/** Defaults for unknown models: a window of 128,000 tokens, and what most models can do. */
const unknownModel: Omit<ModelProfile, "display_name"> = {
  context: 128_000,
  output: 32_768,
  max_tokens: null,
  max_tokens_thinking: null,
  temperature: null,
  temperature_thinking: null,
  thinking: "none",
  vision: false,
  vision_model: null,
  tool_calls: "native",
  connect_seconds: null,
  first_token_seconds: null,
  idle_seconds: null,
  total_seconds: null,
  structured_output: "json_schema",
  price: null,
};

/** Rows by pattern: a name, or a prefix with a trailing `*`. */
export type ProfileRows = Readonly<Record<string, ProfilePart>>;

/**
 * A model's profile from built-in rows, servers' facts (`found`), and `own` rows, each in order of specificity. The
 * answer's limit never exceeds the context.
 */
export function profileOf(model: string, own: ProfileRows = {}, found: ProfileRows = {}): ModelProfile {
  const display_name = model.slice(model.indexOf(":") + 1);
  const parts = [...builtIn(model), ...matching(model, found), ...matching(model, own)];
  const profile: ModelProfile = Object.assign({ ...unknownModel, display_name }, ...parts);
  return { ...profile, output: Math.min(profile.output, profile.context) };
}

/** Profiles from built-in rows alone. */
export const builtInProfiles: ReadProfile = (model) => profileOf(model);

/** Whether a row describes one model, which can be listed, rather than a rule for many. */
export function isOneModel(match: string): boolean {
  return !match.endsWith("*");
}

const builtInParts = new Map<string, ProfilePart[]>();
/** Cached names: more than any server has models, but bounded, since clients may request any name. */
const maxNames = 500;

/** Called several times per iteration with the same result. */
function builtIn(model: string): ProfilePart[] {
  const known = builtInParts.get(model);
  if (known !== undefined) return known;
  const parts = matching(model, builtInModels);
  if (builtInParts.size >= maxNames) builtInParts.clear();
  builtInParts.set(model, parts);
  return parts;
}

function matching(model: string, rows: ProfileRows): ProfilePart[] {
  return Object.keys(rows)
    .filter((match) => (isOneModel(match) ? match === model : model.startsWith(match.slice(0, -1))))
    .toSorted((one, other) => Number(isOneModel(one)) - Number(isOneModel(other)) || one.length - other.length)
    .map((match) => rows[match] ?? {});
}
