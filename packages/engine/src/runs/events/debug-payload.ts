import { z } from "zod";
import type { JsonObject } from "../../storage/records.ts";
import { storableConfig } from "../admission/run-config.ts";

const ConfigWithThread = z.object({
  configurable: z.looseObject({
    thread_id: z.string(),
    checkpoint_id: z.string().nullish(),
    checkpoint_ns: z.string().nullish(),
    checkpoint_map: z.record(z.string(), z.unknown()).nullish(),
  }),
});
const Task = z.looseObject({ state: z.unknown() });
const CheckpointPayload = z.looseObject({
  config: z.unknown(),
  parentConfig: z.unknown(),
  tasks: z.array(z.unknown()),
});
const DebugPayload = z.looseObject({ type: z.string(), payload: z.unknown() });

/** The wire's Checkpoint of a LangGraph config, `null` where it names none. */
export function checkpointOf(config: unknown): JsonObject | null {
  const parsed = ConfigWithThread.safeParse(config);
  if (!parsed.success) return null;
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = parsed.data.configurable;
  return {
    thread_id,
    checkpoint_id: checkpoint_id ?? null,
    checkpoint_ns: checkpoint_ns ?? "",
    checkpoint_map: checkpoint_map ?? null,
  };
}

/** A config without callbacks, without the keys (`__…`) by which LangGraph and this server talk, and without users' tokens. */
function publicConfig(config: unknown): unknown {
  const parsed = z.looseObject({ configurable: z.record(z.string(), z.unknown()) }).safeParse(config);
  if (!parsed.success) return config;
  const { callbacks: _callbacks, ...rest } = parsed.data;
  const configurable = Object.entries(rest.configurable).filter(([key]) => !key.startsWith("__"));
  return storableConfig({ ...rest, configurable: Object.fromEntries(configurable) });
}

/** A task as the wire has it: the place of a subgraph's state is its `checkpoint`. */
export function toWireTask(task: unknown): unknown {
  const parsed = Task.safeParse(task);
  if (!parsed.success || parsed.data.state === undefined) return task;
  const checkpoint = checkpointOf(parsed.data.state);
  if (checkpoint === null) return task;
  const { state: _state, ...rest } = parsed.data;
  return { ...rest, checkpoint };
}

/** A checkpoint of the `debug` mode: snake_case, with its checkpoint and the parent's beside their configs. */
export function toWireCheckpoint(payload: unknown): unknown {
  const parsed = CheckpointPayload.safeParse(payload);
  if (!parsed.success) return payload;
  const { parentConfig, config, tasks, ...rest } = parsed.data;
  return {
    ...rest,
    config: publicConfig(config),
    parent_config: publicConfig(parentConfig),
    checkpoint: checkpointOf(config),
    parent_checkpoint: checkpointOf(parentConfig),
    tasks: tasks.map(toWireTask),
  };
}

/** One chunk of LangGraph's `debug` mode. */
export function toWireDebug(chunk: unknown): unknown {
  const parsed = DebugPayload.safeParse(chunk);
  if (!parsed.success) return chunk;
  const { type, payload } = parsed.data;
  if (type === "checkpoint") return { ...parsed.data, payload: toWireCheckpoint(payload) };
  if (type === "task_result") return { ...parsed.data, payload: toWireTask(payload) };
  return chunk;
}

const ToolError = z.looseObject({ error: z.instanceof(Error) });

/** One chunk of LangGraph's `tools` mode: what was thrown stands in it as its name and its text. */
export function toWireTool(chunk: unknown): unknown {
  const parsed = ToolError.safeParse(chunk).data;
  if (parsed === undefined) return chunk;
  const { name, message } = parsed.error;
  return { ...parsed, error: { error: name, message } };
}
