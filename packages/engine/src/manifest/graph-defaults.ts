import { z } from "zod";
import { environmentVariable } from "../config/config.ts";
import { AppError } from "../errors/errors.ts";

const variable = "LANGGRAPH_CONFIG";
const JsonObject = z.record(z.string(), z.unknown());
const Defaults = z.record(
  z.string(),
  z.looseObject({ configurable: JsonObject.optional(), context: JsonObject.optional() }),
);

/** What a graph's own assistant says where a run says nothing: `config` and `context`. */
export interface GraphDefaults {
  config: Record<string, unknown>;
  context: Record<string, unknown>;
  /** What `langgraph.json` says of the graph. */
  description?: string | undefined;
}

/** Nothing: of a graph that the variable does not name. */
export const noDefaults: GraphDefaults = { config: {}, context: {} };

/**
 * The defaults of `LANGGRAPH_CONFIG`, JSON of the form `{"graph": {"configurable": {}, "context": {}}}`. Throws `config` for another form.
 */
export function readGraphDefaults(): Record<string, GraphDefaults> {
  const text = environmentVariable(variable)?.trim() ?? "";
  if (text === "") return {};
  const parsed = Defaults.safeParse(jsonOf(text));
  if (!parsed.success) throw wrong(z.prettifyError(parsed.error));
  const entries = Object.entries(parsed.data).map(([id, { context = {}, ...config }]) => [id, { config, context }]);
  return Object.fromEntries(entries);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw wrong("it is no JSON");
  }
}

function wrong(why: string): AppError {
  return new AppError("config", `${variable} cannot be read: ${why}.`, {
    suggestion: 'Expected JSON such as {"agent": {"configurable": {"model": "x"}, "context": {}}}.',
  });
}
