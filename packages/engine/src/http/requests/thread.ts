import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import type { Session } from "../../storage/records.ts";
import { interruptedRun } from "../../runs/admission/executed-runs.ts";
import { readNewest } from "../../runs/follow/follow.ts";
import type { Graphs } from "../../graphs/load.ts";
import type { HttpServices } from "../environment.ts";
import { z } from "zod";
import { Minutes } from "../../config/default-times.ts";
import { type NewTtl, SessionTtl } from "../../storage/record-stores.ts";
import { errorQuestion } from "../../errors/error-texts.ts";
import type { Language } from "../../language.ts";
import { chainQuestion, type Question, questionFor } from "../../sessions/questions/questions.ts";

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

/** The wire's ThreadState with its interrupts; empty for a session without a graph. */
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

/** The state of a subgraph. */
function toState(state: StateSnapshot): object {
  return {
    values: state.values,
    next: state.next,
    tasks: state.tasks.map(toThreadTask),
    // A subgraph that has not started has none.
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
    // A subgraph is given by its checkpoint, or whole if requested.
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

/**
 * The wire's Thread of a session, with everything read for it: its newest values, when they were written, its error.
 */
export async function wireThread(
  { storage, runs, graphs }: Pick<HttpServices, "storage" | "runs" | "graphs">,
  session: Session,
) {
  const newest = await readNewest(storage, session.session_id);
  const values = await withCallsOf(session, newest?.values, graphs);
  const failed = session.status === "error" ? await interruptedRun(runs, session.session_id) : undefined;
  return {
    ...toThread(session, values),
    ...(newest && { state_updated_at: newest.written_at }),
    ...(failed?.error && { error: { error: failed.error.error, message: failed.error.message } }),
  };
}

/** The values of a session, with the calls it asks a person about. */
export async function withCallsOf<Values>(
  { session_id, metadata, interrupts }: Session,
  values: Values,
  graphs: Graphs,
): Promise<Values> {
  const graphId = metadata["graph_id"];
  const isServed = typeof graphId === "string" && graphs.ids().includes(graphId);
  const graph = isServed ? graphs.fixed(graphId) : undefined;
  return graph === undefined ? values : await graphs.shownValues(values, interrupts, { graph, sessionId: session_id });
}

const Step = /\.?([^.[\]]+)|\[(-?\d+)\]/gu;

/**
 * The value at a path such as `values.messages[-1].content`: keys by dots, list indexes in brackets, negative ones from
 * the end (`extract`). `null` if there is nothing.
 */
export function extractPath(value: unknown, path: string): unknown {
  let at: unknown = value;
  for (const [, key, index] of path.matchAll(Step)) {
    if (typeof at !== "object" || at === null) return null;
    if (index === undefined) at = new Map<string, unknown>(Object.entries(at)).get(key ?? "");
    else at = Array.isArray(at) ? at.at(Number(index)) : undefined;
  }
  return at ?? null;
}

/** Whether a path is well-formed: nothing is left over between its steps. */
export function isPath(path: string): boolean {
  return path !== "" && path.replaceAll(Step, "") === "";
}

const { strategy: Strategy } = SessionTtl.shape;

/** How long an untouched thread is kept: minutes, or minutes and what happens then. */
export const ThreadTtl = z
  .union([Minutes, z.object({ ttl: Minutes, strategy: Strategy.nullish() })])
  .describe(
    "Minutes that the thread stays after it was last touched, and whether it goes then (`delete`) or its states but the newest one",
  );

/** A thread's expiry as the wire shows it. */
export const ThreadTtlShape = z.object({
  strategy: Strategy,
  ttl_minutes: z.number(),
  expires_at: z.string(),
});

/** A thread's expiry in the wire's form; empty if it has none. */
export function toWireTtl(ttl: SessionTtl | undefined): { ttl?: z.infer<typeof ThreadTtlShape> } {
  if (ttl === undefined) return {};
  return { ttl: { strategy: ttl.strategy, ttl_minutes: ttl.minutes, expires_at: ttl.expires_at } };
}

/** A thread's expiry as a request asks for it. */
export function readTtl(wanted: z.infer<typeof ThreadTtl>): NewTtl {
  const { ttl: minutes, strategy = null } = typeof wanted === "number" ? { ttl: wanted } : wanted;
  return { minutes, strategy: strategy ?? "delete" };
}

/** Sets a thread's expiry from a request and returns it; without one (`undefined`) nothing changes. */
export async function setTtl(
  { ttls }: HttpServices["storage"],
  sessionId: string,
  wanted: z.infer<typeof ThreadTtl> | null | undefined,
): Promise<ReturnType<typeof toWireTtl>> {
  if (wanted === undefined) return {};
  return toWireTtl(await ttls.set(sessionId, wanted === null ? null : readTtl(wanted)));
}

/**
 * Our own questions are shown in the reader's language, or as asked if the reader names none; those of graphs and
 * models always as asked.
 */
export function questionText(
  { kind, actions, operation, failure, question }: Question,
  language: Language | undefined,
): string | null {
  if (language === undefined) return question;
  if (operation !== undefined) return questionFor(operation, language);
  const [action] = actions;
  if (kind === "chain_confirm" && action !== undefined) return chainQuestion(action.name, language);
  return failure === undefined ? question : errorQuestion(failure.code, failure.hasOther, language);
}
