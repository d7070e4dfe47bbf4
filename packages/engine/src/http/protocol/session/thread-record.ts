import type { Graphs } from "../../../graphs/load.ts";
import type { RecordItem } from "../../../runs/follow/follow-record.ts";
import type { Run } from "../../../storage/records.ts";
import type { HttpServices } from "../../environment.ts";
import { type EventFilter, isWanted, type ProtocolEvent } from "../events/protocol-event.ts";
import type { AgentTree } from "../events/lifecycle.ts";
import { createRunProtocol, type RunProtocol } from "../events/run-protocol.ts";
import { HTTPException } from "hono/http-exception";
import { type ErrorCode, explain, isAppError } from "../../../errors/errors.ts";
import type { Logger } from "../../../logger.ts";
import { Refusal as Refused } from "../../../manifest/auth.ts";
import { partingTime } from "../../../runs/events/log.ts";

type RecordServices = Pick<HttpServices, "runs" | "graphs">;

/** What a reader gets of a record: what it wants of the next events; once, that all of the past is told. */
export type RecordPart = ProtocolEvent[] | "caught up";

/**
 * A thread's record in the words of the protocol: what has happened, after `since` or in the newest runs, then what
 * happens, over all runs. Ends with the signal, the thread or the server.
 */
export async function* readRecord(
  services: RecordServices,
  threadId: string,
  filter: EventFilter,
  signal: AbortSignal,
): AsyncGenerator<RecordPart> {
  const translate = createTranslation(services.graphs);
  // A run that has ended in this millisecond has its last place right before it.
  const since = filter.since === undefined ? undefined : Math.floor((filter.since + 1) / 1000);
  for await (const item of services.runs.followRecord(threadId, since, signal)) {
    if ("caughtUp" in item) yield "caught up";
    else yield translate(item).filter((event) => isWanted(filter, event));
  }
}

/** The graphs of the newest run and how they are now; `undefined` for a thread without one. */
export async function readTree(services: RecordServices, threadId: string): Promise<AgentTree | undefined> {
  const enough = new AbortController();
  let current: { run_id: string; protocol: RunProtocol } | undefined;
  for await (const item of services.runs.followRecord(threadId, undefined, enough.signal)) {
    if ("caughtUp" in item) break;
    if ("news" in item) continue;
    const { run } = item;
    if (current?.run_id !== run.run_id) {
      // What was stopped before it began has no graphs, where another one has.
      if (current !== undefined && run.attempt === 0) continue;
      current = { run_id: run.run_id, protocol: protocolOf(run, services.graphs) };
    }
    if ("ended" in item) current.protocol.end(item.ended, item.at);
    else for (const event of item.events) current.protocol.events(event);
  }
  enough.abort();
  return current?.protocol.tree();
}

/** Runs come one after the other, each whole; only those that were stopped before they began come amid another one. */
function createTranslation(graphs: Graphs): (item: Exclude<RecordItem, { caughtUp: true }>) => ProtocolEvent[] {
  const protocols = new Map<string, RunProtocol>();
  return (item) => {
    // What no run has told has no place: a reader that was away does not hear of it.
    if ("news" in item) {
      return [{ method: "custom", namespace: [], timestamp: Date.parse(item.news.time), data: { payload: item.news } }];
    }
    const { run } = item;
    const protocol = protocols.get(run.run_id) ?? protocolOf(run, graphs);
    if ("ended" in item) {
      protocols.delete(run.run_id);
      return protocol.end(item.ended, item.at);
    }
    protocols.set(run.run_id, protocol);
    return item.events.flatMap((event) => protocol.events(event));
  };
}

function protocolOf(run: Run, graphs: Graphs): RunProtocol {
  // A graph that is served no more still has its record.
  const loopNodes = graphs.ids().includes(run.graph_id)
    ? graphs.loopNodes(graphs.get(run.graph_id))
    : new Set<string>();
  return createRunProtocol(run, loopNodes);
}

/** Why a command was refused, in the words of the protocol. */
type ProtocolErrorCode =
  | "invalid_argument"
  | "unknown_command"
  | "unknown_error"
  | "no_such_run"
  | "no_such_subscription"
  | "no_such_namespace"
  | "no_such_interrupt"
  | "permission_denied"
  | "not_supported";

/** Where a thread's record stood when a command was taken: what it has begun comes after `applied_through_seq`. */
interface AnswerMeta {
  thread_id: string;
  applied_through_seq: number;
}

/** The answer to a command; a refusal is one too, with HTTP status 200. */
export type ProtocolAnswer =
  | { type: "success"; id: number; result: object; meta: AnswerMeta }
  | { type: "error"; id: number | null; error: ProtocolErrorCode; message: string; meta?: AnswerMeta };

/** What came of a command. */
export type CommandOutcome = { result: object } | Refusal;

/** Why nothing came of a command. */
export interface Refusal {
  error: ProtocolErrorCode;
  message: string;
}

/** The place that everything told so far has at most, and nothing that is told from now on. */
export function metaOf(threadId: string): AnswerMeta {
  return { thread_id: threadId, applied_through_seq: partingTime() * 1000 - 1 };
}

const codes: Partial<Record<ErrorCode, ProtocolErrorCode>> = {
  auth: "permission_denied",
  permission: "permission_denied",
  not_found: "invalid_argument",
  invalid_format: "invalid_argument",
  missing_parameter: "invalid_argument",
  invalid_parameter: "invalid_argument",
  conflict: "invalid_argument",
  invalid_state: "invalid_argument",
  too_large: "invalid_argument",
};

/** Turns what a command has thrown into its refusal; what nobody expected is logged whole and told without details. */
export function toRefusal(error: unknown, logger: Logger): Refusal {
  if (isAppError(error)) return { error: codes[error.code] ?? "unknown_error", message: explain(error) };
  if (error instanceof HTTPException && error.status < 500) {
    return { error: "invalid_argument", message: error.message };
  }
  // What the rules of `auth.path` have refused.
  if (error instanceof Refused && error.status < 500) return { error: "permission_denied", message: error.message };
  logger.error({ err: error }, "command_failed");
  return { error: "unknown_error", message: "Internal Server Error" };
}
