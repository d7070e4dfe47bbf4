import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import type { Session } from "../../storage/records.ts";

/** The wire's Thread: `values` and `interrupts` are left out while there are none. */
export function toThread(session: Session, values: Record<string, unknown> | undefined): object {
  return {
    thread_id: session.session_id,
    created_at: session.created_at,
    updated_at: session.updated_at,
    metadata: session.metadata,
    status: session.status,
    config: session.config,
    values,
    interrupts: values === undefined ? undefined : session.interrupts,
  };
}

/** The wire's ThreadState, with all that it asks; of a session without a graph it is empty. */
export function toThreadState(state: StateSnapshot | undefined): object {
  if (state === undefined) {
    return {
      values: {},
      next: [],
      tasks: [],
      metadata: {},
      created_at: null,
      checkpoint: null,
      parent_checkpoint: null,
    };
  }
  return { ...toState(state), interrupts: state.tasks.flatMap((task) => task.interrupts) };
}

/** A state as that of a subgraph is told. */
function toState(state: StateSnapshot): object {
  return {
    values: state.values,
    next: state.next,
    tasks: state.tasks.map(toThreadTask),
    // Of a subgraph that has not begun there is none, and nothing to be told.
    ...(state.metadata !== undefined && { metadata: state.metadata }),
    created_at: state.createdAt ?? null,
    checkpoint: toCheckpoint(state.config),
    parent_checkpoint: toCheckpoint(state.parentConfig),
  };
}

function toThreadTask(task: StateSnapshot["tasks"][number]): object {
  const { state } = task;
  const isSnapshot = state !== undefined && "values" in state;
  return {
    id: task.id,
    name: task.name,
    path: task.path ?? [],
    error: task.error === undefined || task.error === null ? null : errorText(task.error),
    interrupts: task.interrupts,
    // A subgraph that was not asked for is named by its place; one that was asked for is whole.
    checkpoint: state !== undefined && !isSnapshot ? (state.configurable ?? null) : null,
    state: isSnapshot ? toState(state) : null,
    result: task.result ?? null,
  };
}

function errorText(error: unknown): string {
  if (typeof error === "object" && error !== null && "message" in error) return String(error.message);
  return String(error);
}

/** The wire's Checkpoint, or null when the configuration names none. */
export function toCheckpoint(config: RunnableConfig | undefined): object | null {
  const place = config?.configurable;
  if (place?.["checkpoint_id"] === undefined) return null;
  return {
    thread_id: place["thread_id"],
    checkpoint_ns: place["checkpoint_ns"] ?? "",
    checkpoint_id: place["checkpoint_id"],
    checkpoint_map: place["checkpoint_map"] ?? null,
  };
}
