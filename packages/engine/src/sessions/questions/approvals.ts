import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { clusterDate, clusterTime } from "../../concurrency/cluster-time.ts";
import { AppError } from "../../errors/errors.ts";
import { sessionsOfAgents } from "../../runs/background-sessions.ts";
import type { RunRequest } from "../../runs/admission/draft.ts";
import { notPending } from "../../storage/approvals.ts";
import { type Approval, JsonObject, type Session } from "../../storage/records.ts";
import type { ApprovalAnswer } from "../../storage/storage.ts";
import type { SessionRuns, SessionStorage } from "../scope/session-storage.ts";
import { lastRunOf } from "../overview/last-run.ts";
import { type ApprovalDecision, readQuestion, resumeValue } from "./questions.ts";
import { requireSession } from "../sessions.ts";
import type { Logger } from "../../logger.ts";

/** Questions expired per batch. */
const pageSize = 100;

/** Services that approvals use. */
export interface ApprovalServices {
  storage: Pick<SessionStorage, "sessions" | "approvals">;
  runs: Pick<SessionRuns, "start" | "list">;
  /** Hours after which an unanswered question is denied; `undefined`: never. */
  timeoutHours: number | undefined;
}

/** The outcome of an answer. `repeated`: it had been answered before, and `approval` has that answer. */
export interface Answered {
  approval: Approval;
  repeated: boolean;
}

/**
 * All open questions of a session, oldest first, at any depth, then those of its background agents, each with its own
 * session; expired ones are denied first. Throws `not_found` for an unknown session.
 */
export async function listApprovals(services: ApprovalServices, sessionId: string): Promise<Approval[]> {
  const session = await requireSession(services.storage, sessionId);
  const agents = await sessionsOfAgents(services.storage, session);
  const waiting: Approval[] = [];
  for (const asking of [session, ...agents.filter(({ status }) => status === "interrupted")]) {
    await expireSession(services, asking);
    waiting.push(...(await services.storage.approvals.pending(asking.session_id)));
  }
  return waiting;
}

/** The session that asked a question shown in this one: this one, or that of a background agent. */
async function sessionThatAsked(
  { storage }: Pick<ApprovalServices, "storage">,
  sessionId: string,
  interruptId: string,
): Promise<Session> {
  const session = await requireSession(storage, sessionId);
  if ((await storage.approvals.get(sessionId, interruptId)) !== undefined) return session;
  for (const agent of await sessionsOfAgents(storage, session)) {
    if ((await storage.approvals.get(agent.session_id, interruptId)) !== undefined) return agent;
  }
  return session;
}

/**
 * Answers one question by a run that resumes it. Idempotent: a second answer changes nothing and returns the first one.
 * Throws `not_found` for an unknown session or question, `conflict` if the session moved on or `hash` differs from the
 * question's, `invalid_parameter` for a decision the question does not accept.
 */
export async function answerApproval(
  services: ApprovalServices,
  shownIn: string,
  interruptId: string,
  decision: ApprovalDecision,
): Promise<Answered> {
  const session = await sessionThatAsked(services, shownIn, interruptId);
  const { session_id: sessionId } = session;
  const approval = await requireApproval(services.storage, sessionId, interruptId);
  if (approval.state === "answered") return { approval, repeated: true };
  if (approval.state === "stale") throw notPending(approval);
  if (isExpired(approval, services)) {
    await deny(services, session, approval);
    return { approval: await requireApproval(services.storage, sessionId, interruptId), repeated: true };
  }
  const question = readQuestion(approval.value);
  if (decision.hash !== undefined && decision.hash !== question.hash) {
    throw new AppError("conflict", "The question is about something else than the hash that was approved.", {
      suggestion: "Look at the question again.",
      message_zh: "要批准的内容已有变化，未作批准。请重新查看后决定。",
    });
  }
  const value = resumeValue(question, decision);
  const remember = decision.type === "approve" ? decision.remember : undefined;
  return answer(services, session, approval, value, {
    interrupt_id: interruptId,
    decided_by: "person",
    ...(remember && { grant: { grant_id: newId(), ...remember } }),
  });
}

/** Denies a session's expired questions; returns their number. */
export async function expireSession(services: ApprovalServices, session: Session): Promise<number> {
  if (services.timeoutHours === undefined) return 0;
  const waiting = await services.storage.approvals.pending(session.session_id);
  const late = waiting.filter((approval) => isExpired(approval, services));
  for (const approval of late) await deny(services, session, approval);
  return late.length;
}

/**
 * Denies the expired questions of all sessions until aborted; returns their number. A failure in one does not stop the
 * others.
 */
async function expireApprovals(
  services: ApprovalServices,
  onFailure: (error: unknown, approval: Approval) => void,
  signal: AbortSignal,
): Promise<number> {
  const limit = deadline(services);
  if (limit === undefined) return 0;
  let denied = 0;
  // Questions that never expire, and those that fail, must not block the others.
  for (let kept = 0; ;) {
    const page = await services.storage.approvals.askedBefore(limit, { limit: pageSize, offset: kept });
    for (const approval of page) {
      if (signal.aborted) return denied;
      try {
        if (await expire(services, approval)) denied += 1;
        else kept += 1;
      } catch (error) {
        kept += 1;
        onFailure(error, approval);
      }
    }
    if (page.length < pageSize) return denied;
    await nextTurn();
  }
}

/** Denies a question, unless it accepts no denial. */
async function expire(services: ApprovalServices, approval: Approval): Promise<boolean> {
  if (!isExpired(approval, services)) return false;
  await deny(services, await requireSession(services.storage, approval.session_id), approval);
  return true;
}

/** When a question expires; `undefined` if never: no time-out is set, or it accepts no denial. */
export function expiryOf(
  approval: Approval,
  { timeoutHours }: Pick<ApprovalServices, "timeoutHours">,
): string | undefined {
  if (timeoutHours === undefined || !readQuestion(approval.value).takes.includes("reject")) return undefined;
  return new Date(Date.parse(approval.asked_at) + timeoutHours * 3_600_000).toISOString();
}

function deadline({ timeoutHours }: ApprovalServices): string | undefined {
  return timeoutHours === undefined ? undefined : new Date(clusterTime() - timeoutHours * 3_600_000).toISOString();
}

function isExpired(approval: Approval, services: ApprovalServices): boolean {
  const expiry = expiryOf(approval, services);
  return expiry !== undefined && expiry < clusterDate();
}

async function deny(services: ApprovalServices, session: Session, approval: Approval): Promise<void> {
  const message = `Nobody answered within ${services.timeoutHours} hour(s), which counts as a no.`;
  const value = resumeValue(readQuestion(approval.value), { type: "reject", message });
  await answer(services, session, approval, value, { interrupt_id: approval.interrupt_id, decided_by: "timeout" });
}

async function requireApproval(
  storage: ApprovalServices["storage"],
  sessionId: string,
  interruptId: string,
): Promise<Approval> {
  const approval = await storage.approvals.get(sessionId, interruptId);
  if (approval === undefined) throw new AppError("not_found", `No question ${interruptId} was asked in this thread.`);
  return approval;
}

/** Admits the run with the answer. Of two concurrent answers the store accepts one and rejects the other. */
async function answer(
  { storage, runs }: ApprovalServices,
  session: Session,
  { session_id, interrupt_id }: Approval,
  value: unknown,
  by: ApprovalAnswer,
): Promise<Answered> {
  const request = await resumeRequest(runs, session, interrupt_id, value);
  try {
    await runs.start(session, { ...request, answer: by });
  } catch (error) {
    const now = await storage.approvals.get(session_id, interrupt_id);
    if (now?.state === "answered") return { approval: now, repeated: true };
    throw error;
  }
  return { approval: await requireApproval(storage, session_id, interrupt_id), repeated: false };
}

/** A run with this answer that otherwise repeats the request of the session's last run. */
async function resumeRequest(
  runs: ApprovalServices["runs"],
  session: Session,
  interruptId: string,
  value: unknown,
): Promise<RunRequest> {
  const { assistant, run: last, context } = await lastRunOf(runs, session);
  const { context: _context, ...ofSession } = session.config;
  const config = last?.kwargs.config ?? ofSession;
  // The answer goes to the newest checkpoint, wherever the last run started.
  const {
    checkpoint_id: _id,
    checkpoint_ns: _ns,
    checkpoint_map: _map,
    ...configurable
  } = JsonObject.safeParse(config["configurable"]).data ?? {};
  return {
    assistant,
    command: { resume: { [interruptId]: value } },
    config: { ...config, configurable },
    context,
    metadata: last?.metadata ?? {},
    stream_mode: last?.kwargs.stream_mode ?? ["values"],
    stream_subgraphs: last?.kwargs.stream_subgraphs ?? false,
    stream_resumable: last?.kwargs.stream_resumable ?? false,
    temporary: false,
    durability: last?.kwargs.durability ?? "sync",
    // An answer by time-out does not change the owner.
    ...(last?.kwargs.owner !== undefined && { owner: last.kwargs.owner }),
    // Queued behind the run of another answer that is still in progress.
    multitask_strategy: "enqueue",
  };
}

/** Milliseconds between two sweeps. */
const interval = 60_000;

/** Denies expired questions. */
interface ApprovalSweep {
  /** Denies all expired questions; returns their number. Never throws: failures are logged. */
  sweep(): Promise<number>;
  /** Starts no more sweeps; the current one ends after its current question. */
  stop(): Promise<void>;
}

/**
 * Sweeps at once and then every minute, if a time-out is set. The timer does not keep the process alive. `leads`: whether this
 * server does it for all of them.
 */
export function startApprovalSweep(services: ApprovalServices, logger: Logger, leads = () => true): ApprovalSweep {
  let sweeping: Promise<number> | undefined;
  const stopping = new AbortController();
  async function expireAll(): Promise<number> {
    try {
      const onFailure: Parameters<typeof expireApprovals>[1] = (error, { session_id, interrupt_id }) => {
        logger.error({ err: error, session_id, interrupt_id }, "approval_not_expired");
      };
      return await expireApprovals(services, onFailure, stopping.signal);
    } catch (error) {
      logger.error({ err: error }, "approvals_not_expired");
      return 0;
    }
  }
  const sweep = (): Promise<number> =>
    (sweeping ??= expireAll().finally(() => {
      sweeping = undefined;
    }));
  if (services.timeoutHours === undefined) return { sweep, stop: async () => undefined };

  const sweepForAll = (): void => {
    if (leads()) void sweep();
  };
  const timer = setInterval(sweepForAll, interval).unref();
  sweepForAll();
  return {
    sweep,
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await sweeping;
    },
  };
}
