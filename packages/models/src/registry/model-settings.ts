import { isCollection, isPair, LineCounter, parseDocument, type Document } from "yaml";
import { z } from "zod";
import { BaseUrl } from "./base-url.ts";
import { providers } from "../index.ts";
import { ModelName, ProfilePart } from "./model-profile.ts";
import { Roles } from "./roles.ts";

/** The only provider without settings: the offline model, which an app may include. */
const standIn = "offline";

/** The name of a user's own provider. */
export const ProviderName = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/u, {
  error: "expected up to 32 lower-case letters, digits and dashes, beginning with a letter",
});

/** The name of a key. Other variables are excluded, so that setting one cannot leak other secrets. */
export const KeyName = z.string().regex(/^(?!MILLRACE_|LANGSMITH_)[A-Z][A-Z0-9_]{0,63}_API_KEY$/u, {
  error: "expected the name of a key of a model server, such as LM_STUDIO_API_KEY",
});

/** A user's settings of a provider: overrides for a built-in one, at least `base_url` for a custom one. */
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

/** What a row applies to: one model, or all with a prefix. */
export const RowName = z.union([ModelName, z.string().regex(/^[a-z][a-z0-9-]*:[^\s*]*\*$/u)], {
  error: "expected provider:name, with * at its end for all that begin so",
});

/** The models file: custom providers, additional facts about models, and roles. */
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

/** The settings without a file: none. */
export const noSettings: ModelSettings = { providers: {}, models: {}, roles: {} };

/** Parses the file (YAML, including JSON), or reports the invalid lines. */
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

/** The position of a problem's key, or of its nearest parent. */
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
