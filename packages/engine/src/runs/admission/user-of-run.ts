import { JsonObject, type Run } from "../../storage/records.ts";

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
