import { JsonObject, type Run } from "../../storage/records.ts";

/** What the keys begin with by which a run is told who asked for it. */
const prefix = "langgraph_auth_";
const userKey = `${prefix}user`;

/** Who a user is, as LangGraph's own types name it. What else rules say of one may be a token. */
const lasting = ["identity", "display_name", "is_authenticated", "permissions", "kind"];

/** What a `configurable` says of who asks. */
export function userKeysOf(configurable: unknown): JsonObject {
  return pick(JsonObject.safeParse(configurable).data ?? {}, (key) => key.startsWith(prefix));
}

/** A `configurable` without that. */
export function withoutUserKeys(configurable: unknown): JsonObject {
  return pick(JsonObject.safeParse(configurable).data ?? {}, (key) => !key.startsWith(prefix));
}

/** A run's `config` as it may be kept: of the user who asked only who it is, so that no token comes to rest on a disk. */
export function lastingConfig(config: JsonObject): JsonObject {
  const configurable = JsonObject.safeParse(config["configurable"]).data;
  const user = JsonObject.safeParse(configurable?.[userKey]).data;
  if (user === undefined) return config;
  return { ...config, configurable: { ...configurable, [userKey]: pick(user, (key) => lasting.includes(key)) } };
}

/** The row with the whole user, who is known as long as the process that admitted the run. */
export function withUserOf(run: Run, user: JsonObject): Run {
  const { config } = run.kwargs;
  const configurable = { ...JsonObject.safeParse(config["configurable"]).data, [userKey]: user };
  return { ...run, kwargs: { ...run.kwargs, config: { ...config, configurable } } };
}

/** The user as `config` names them; `undefined` where nothing is lost by keeping it. */
export function wholeUser(config: JsonObject): JsonObject | undefined {
  const user = JsonObject.safeParse(JsonObject.safeParse(config["configurable"]).data?.[userKey]).data;
  return user !== undefined && Object.keys(user).some((key) => !lasting.includes(key)) ? user : undefined;
}

function pick(object: JsonObject, wanted: (key: string) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => wanted(key)));
}
