import { isCollection, isPair, LineCounter, parseDocument, type Document } from "yaml";
import { z } from "zod";
import { BaseUrl } from "./base-url.ts";
import { providers } from "../index.ts";
import { ModelName, ProfilePart } from "./model-profile.ts";
import { Roles } from "./roles.ts";

/** The one provider that no setting is of: the stand-in, which an app may have. */
const standIn = "offline";

/** The name of a provider of the user's own. */
export const ProviderName = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/u, {
  error: "expected up to 32 lower-case letters, digits and dashes, beginning with a letter",
});

/** The name of a key. Not any variable, so that setting one cannot leak other secrets. */
export const KeyName = z.string().regex(/^(?!MILLRACE_|LANGSMITH_)[A-Z][A-Z0-9_]{0,63}_API_KEY$/u, {
  error: "expected the name of a key of a model server, such as LM_STUDIO_API_KEY",
});

/** What a user says of a provider: of a built-in one what differs, of an own one at least its `base_url`. */
export const ProviderSetting = z.strictObject({
  kind: z.literal("openai-compatible").optional().describe("What it speaks; built-in ones keep their own"),
  title: z.string().min(1).max(100).optional(),
  base_url: BaseUrl.optional().describe("Where it is reached; its key goes there"),
  key: KeyName.optional().describe("The name of its key, in the environment or among the stored keys"),
  timeout_seconds: z
    .number()
    .positive()
    .max(3600)
    .optional()
    .describe("Until the first words of an answer; what is said of a model goes before it"),
  max_concurrent: z.number().int().positive().optional().describe("Requests under way at once; else any number"),
  thinking_field: z
    .enum(["thinking", "enable_thinking", "chat_template_kwargs"])
    .optional()
    .describe(
      "How an own one is told whether a model thinks that can do both (vLLM: chat_template_kwargs); else it is not",
    ),
  beginning_field: z
    .enum(["prefix", "partial"])
    .optional()
    .describe(
      "How an own one is given the beginning of an answer (Mistral: prefix, Moonshot: partial); else it cannot be",
    ),
  requests_per_second: z
    .number()
    .positive()
    .optional()
    .describe("Requests that may begin in a second; else any number"),
});
export type ProviderSetting = z.infer<typeof ProviderSetting>;

/** What a row of models is about: one, or all whose names begin so. */
export const RowName = z.union([ModelName, z.string().regex(/^[a-z][a-z0-9-]*:[^\s*]*\*$/u)], {
  error: "expected provider:name, with * at its end for all that begin so",
});

/** The file of models: own providers, what is known of models beside the built-in rows, and who has which role. */
export const ModelSettings = z
  .strictObject({
    providers: z.record(ProviderName, ProviderSetting).default({}),
    models: z.record(RowName, ProfilePart).default({}),
    roles: Roles.default({}),
  })
  .superRefine((settings, context) => {
    for (const [name, { base_url, kind, beginning_field, thinking_field }] of Object.entries(settings.providers)) {
      const path = ["providers", name];
      const isBuiltIn = Object.hasOwn(providers, name) || name === standIn;
      if (!isBuiltIn && base_url === undefined) {
        context.addIssue({ code: "custom", path, message: "a provider of your own needs a base_url" });
      }
      const isStated = [kind, beginning_field, thinking_field].some((field) => field !== undefined);
      if (isBuiltIn && (isStated || name === standIn)) {
        context.addIssue({ code: "custom", path, message: "this provider is built in and keeps its kind" });
      }
    }
  });
export type ModelSettings = z.infer<typeof ModelSettings>;

/** What a file that is not there says: nothing. */
export const noSettings: ModelSettings = { providers: {}, models: {}, roles: {} };

/** Reads the text of the file (YAML, of which JSON is a part), or says in which lines it is wrong. */
export function readModelSettings(text: string): { value: ModelSettings } | { problem: string } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number): number => lines.linePos(offset).line;
  if (document.errors.length > 0) {
    return { problem: document.errors.map(({ pos, message }) => `line ${lineAt(pos[0])}: ${message}`).join("; ") };
  }
  const parsed = ModelSettings.safeParse(document.toJS() ?? {});
  if (parsed.success) return { value: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => {
    const offset = offsetOf(document, path);
    const place = path.length === 0 ? "" : `${path.map(String).join(" › ")}: `;
    return `line ${offset === undefined ? 1 : lineAt(offset)}: ${place}${message}`;
  });
  return { problem: problems.join("; ") };
}

/** Where the key stands that a problem is about, or the nearest one around it. */
function offsetOf(document: Document, path: readonly PropertyKey[]): number | undefined {
  let node: unknown = document.contents;
  let offset: number | undefined;
  for (const step of path) {
    if (!isCollection(node)) break;
    const pair: unknown = node.items.find((item) => isPair(item) && String(item.key) === String(step));
    if (!isPair(pair)) break;
    const { key } = pair;
    if (typeof key === "object" && key !== null && "range" in key && Array.isArray(key.range)) {
      offset = Number(key.range[0]);
    }
    node = pair.value;
  }
  return offset;
}
