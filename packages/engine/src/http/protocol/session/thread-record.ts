import type { Graphs } from "../../../graphs/load.ts";
import type { RecordItem } from "../../../runs/follow/follow-record.ts";
import type { Run } from "../../../storage/records.ts";
import type { HttpServices } from "../../environment.ts";
import { type EventFilter, isWanted, type ProtocolEvent } from "../events/protocol-event.ts";
import type { AgentTree } from "../events/lifecycle.ts";
import { createRunProtocol, type RunProtocol } from "../events/run-protocol.ts";
import { HTTPException } from "hono/http-exception";
import { userSentence } from "../../../errors/error-texts.ts";
import { type ErrorCode, explain, isAppError } from "../../../errors/errors.ts";
import type { Language } from "../../../language.ts";
import type { Logger } from "../../../logger.ts";
import { Refusal as Refused } from "../../../manifest/auth.ts";
import { separatorTime } from "../../../runs/events/log.ts";

type RecordServices = Pick<HttpServices, "runs" | "graphs">;

/** Wanted events, and the places of what they were selected from. */
interface RecordBatch {
  events: ProtocolEvent[];
  /** The sequence number up to which the record was read. */
  until: number | undefined;
  /** The sequence number of the end of a run, the last one of its batch. */
  end: number | undefined;
}

/**
 * What a reader of a record gets: batches of wanted events; once, a mark that the past is complete; and whether it waits
 * for what comes.
 */
export type RecordPart = RecordBatch | "caught up" | "waits" | "goes on";

/**
 * A thread's record as protocol events: the past, after `since` or of the newest runs, then live events of all runs.
 * Ends with the signal, the thread or the server.
 */
export async function* readRecord(
  services: RecordServices,
  threadId: string,
  filter: EventFilter,
  signal: AbortSignal,
): AsyncGenerator<RecordPart> {
  const translate = createTranslation(services.graphs);
  // A run that ended in this millisecond has its last sequence number right before it.
  const since = filter.since === undefined ? undefined : Math.floor((filter.since + 1) / 1000);
  for await (const item of services.runs.followRecord(threadId, since, signal)) {
    if ("caughtUp" in item) yield "caught up";
    else if ("waits" in item) yield item.waits ? "waits" : "goes on";
    else {
      const translated = translate(item);
      const until = translated.at(-1)?.seq;
      const events = translated.filter((event) => isWanted(filter, event));
      yield { events, until, end: "ended" in item ? until : undefined };
    }
  }
}

/** The graphs of the newest run with their state; `undefined` for a thread without runs. */
export async function readTree(services: RecordServices, threadId: string): Promise<AgentTree | undefined> {
  const enough = new AbortController();
  let current: { run_id: string; protocol: RunProtocol } | undefined;
  for await (const item of services.runs.followRecord(threadId, undefined, enough.signal)) {
    if ("caughtUp" in item) break;
    if ("news" in item || "waits" in item) continue;
    const { run } = item;
    if (current?.run_id !== run.run_id) {
      // Runs stopped before they started have no graphs; prefer another.
      if (current !== undefined && run.attempt === 0) continue;
      current = { run_id: run.run_id, protocol: protocolOf(run, services.graphs) };
    }
    if ("ended" in item) current.protocol.end(item.ended, item.at);
    else for (const event of item.events) current.protocol.events(event);
  }
  enough.abort();
  return current?.protocol.tree();
}

/** Runs follow one another, each whole; only runs stopped before they started appear amid another. */
function createTranslation(
  graphs: Graphs,
): (item: Exclude<RecordItem, { caughtUp: true } | { waits: boolean }>) => ProtocolEvent[] {
  const protocols = new Map<string, RunProtocol>();
  return (item) => {
    // Events outside a run have no sequence number: a reader that was away does not get them.
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
  // A graph that is no longer served still has its record.
  const loopNodes = graphs.ids().includes(run.graph_id)
    ? graphs.loopNodes(graphs.get(run.graph_id))
    : new Set<string>();
  return createRunProtocol(run, loopNodes);
}

/** The protocol's error codes for refused commands. */
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

/** The position of a thread's record when a command was accepted: events it causes come after `applied_through_seq`. */
interface AnswerMeta {
  thread_id: string;
  applied_through_seq: number;
}

/** The answer to a command, even a refusal; always HTTP status 200. */
export type ProtocolAnswer =
  | { type: "success"; id: number; result: object; meta: AnswerMeta }
  | ({ type: "error"; id: number | null; meta?: AnswerMeta } & Refusal);

/** The outcome of a command. */
export type CommandOutcome = { result: object } | Refusal;

/** Why a command was refused. */
export interface Refusal {
  error: ProtocolErrorCode;
  message: string;
  /** For users who asked in Chinese. */
  user_message?: string;
}

/** An upper bound for all past sequence numbers, below all future ones. */
export function metaOf(threadId: string): AnswerMeta {
  return { thread_id: threadId, applied_through_seq: separatorTime() * 1000 - 1 };
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

/** Turns a command's error into a refusal; unexpected errors are logged whole and answered without details. */
export function toRefusal(error: unknown, logger: Logger, language?: Language): Refusal {
  if (isAppError(error)) {
    const { code, message_zh } = error;
    const chinese = language === "zh" && { user_message: message_zh ?? userSentence(code, language) };
    return { error: codes[code] ?? "unknown_error", message: explain(error), ...chinese };
  }
  if (error instanceof HTTPException && error.status < 500) {
    return { error: "invalid_argument", message: error.message };
  }
  // Refused by the rules of `auth.path`.
  if (error instanceof Refused && error.status < 500) return { error: "permission_denied", message: error.message };
  logger.error({ err: error }, "command_failed");
  return { error: "unknown_error", message: "Internal Server Error" };
}
