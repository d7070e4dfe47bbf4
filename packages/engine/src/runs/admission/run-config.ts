import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { JsonObject, type Run } from "../../storage/records.ts";

/** What a run may say in `config`; other keys are ignored. */
export const RunConfig = z.object({
  tags: z.array(z.string()).max(100).optional(),
  recursion_limit: z.number().int().positive().optional(),
  max_concurrency: z.number().int().positive().optional(),
  /** Milliseconds; more than a timer can count (25 days) is no limit that anybody means. */
  timeout: z.number().positive().max(0x7fff_ffff).optional(),
  configurable: JsonObject.optional(),
  metadata: JsonObject.optional(),
});

/** What an assistant may say in `config`: the same, and its other keys are stored. */
export const AssistantConfig = RunConfig.loose();

/** What is wrong with a value, by the names of the fields in it. */
export function describeIssues(name: string, { issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${[name, ...path].join(".")}: ${message}`).join("; ");
}

/**
 * What is said of a run's `config` that cannot be used. What a request says is checked when it comes, so what is wrong is its
 * assistant's, of a time when that was not checked.
 */
export function wrongConfig(assistantId: string, error: z.ZodError): AppError {
  const issues = describeIssues("config", error);
  return new AppError("invalid_parameter", `The config of assistant "${assistantId}" is wrong: ${issues}.`, {
    suggestion: "Correct the named fields of the assistant (PATCH /assistants/:id), or give the run its own values.",
    message_zh: `助手“${assistantId}”的 config 有误：${issues}。`,
  });
}

/** The prefix of the keys by which a run knows its user. */
const prefix = "langgraph_auth_";
const userKey = `${prefix}user`;

/** The fields of a user in LangGraph's own types. Any other field may hold a token. */
const lasting = ["identity", "display_name", "is_authenticated", "permissions", "kind"];

/** The keys of a `configurable` about the user. */
export function userKeysOf(configurable: unknown): JsonObject {
  return pick(JsonObject.safeParse(configurable).data ?? {}, (key) => key.startsWith(prefix));
}

/** A `configurable` without that. */
export function withoutUserKeys(configurable: unknown): JsonObject {
  return pick(JsonObject.safeParse(configurable).data ?? {}, (key) => !key.startsWith(prefix));
}

/** A run's `config` as it may be stored: of the user only the identity, so that no token is written to disk. */
export function storableConfig(config: JsonObject): JsonObject {
  const configurable = JsonObject.safeParse(config["configurable"]).data;
  const user = JsonObject.safeParse(configurable?.[userKey]).data;
  if (user === undefined) return config;
  return { ...config, configurable: { ...configurable, [userKey]: pick(user, (key) => lasting.includes(key)) } };
}

/** The row with the whole user, which is known only in the process that admitted the run. */
export function withUserOf(run: Run, user: JsonObject): Run {
  const { config } = run.kwargs;
  const configurable = { ...JsonObject.safeParse(config["configurable"]).data, [userKey]: user };
  return { ...run, kwargs: { ...run.kwargs, config: { ...config, configurable } } };
}

/** The user as `config` names them; `undefined` where nothing is lost by keeping it. */
export function unstoredUser(config: JsonObject): JsonObject | undefined {
  const user = JsonObject.safeParse(JsonObject.safeParse(config["configurable"]).data?.[userKey]).data;
  return user !== undefined && Object.keys(user).some((key) => !lasting.includes(key)) ? user : undefined;
}

function pick(object: JsonObject, wanted: (key: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => wanted(key)));
}
