import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { clusterDate } from "@millrace/engine/concurrency/cluster-time";
import { isAIMessage } from "@millrace/engine/message-kinds";
import type { BackgroundAgent, BackgroundReport, BackgroundWatch } from "../agents/background.ts";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { BackgroundService, BackgroundWork } from "../loop/sub-agents/background-service.ts";
import { isUser } from "@millrace/engine/config/api-keys";
import type { Run, Session } from "@millrace/engine/storage/records";
import type { Storage } from "@millrace/engine/storage/storage";
import type { RunStarter } from "@millrace/engine/runs/options";
import type { LiveActivity } from "./activity.ts";
import type { RunRequest } from "@millrace/engine/runs/admission/draft";
import { parentSessionKey } from "@millrace/engine/runs/remote-stops";
import { backgroundSessionId, BackgroundOrigin, sessionsOfAgents } from "@millrace/engine/runs/background-sessions";
import { userKeysOf } from "@millrace/engine/runs/admission/run-config";

/** The graph that background agents run. */
const workflowGraph = "agent";
/** Stores that hold background agents; `Storage`, or a scope limited to one owner. */
export interface BackgroundSources {
  sessions: Pick<Storage["sessions"], "search">;
  runs: Pick<Storage["runs"], "list">;
  checkpointer: Pick<Storage["checkpointer"], "getTuple">;
}

/** Starts and stops background runs. */
export interface BackgroundRuns extends Pick<RunStarter, "start" | "stop"> {
  /** The activity of a session's current run. */
  activity: (sessionId: string) => LiveActivity | undefined;
}

/**
 * Background agents of one run. Each has its own session and run, queued and recovered like any other, so a crash loses
 * nothing and the caller's turn may end.
 */
export function backgroundOf(parent: Run, storage: Storage, runs: BackgroundRuns): BackgroundService {
  const { session_id: parentId } = parent;
  const { owner } = parent.kwargs;
  const requireParent = async (): Promise<Session> => {
    const session = await storage.sessions.get(parentId);
    if (session === undefined) throw new AppError("not_found", `Thread with ID ${parentId} not found`);
    return session;
  };
  return {
    async list(except) {
      const agents = await listBackground(storage, await requireParent(), except);
      return agents.filter(({ cleared }) => !cleared);
    },
    watch: (sessionId) => watchOf(runs.activity(sessionId)),
    async stop({ run_id }) {
      if (run_id !== null) await runs.stop(run_id, true);
    },
    async clear(agents) {
      for (const { session_id } of agents) {
        const origin = BackgroundOrigin.safeParse((await storage.sessions.get(session_id))?.metadata).data?.background;
        if (origin === undefined) continue;
        await storage.sessions.update(session_id, { metadata: { background: { ...origin, cleared: true } } });
      }
    },
    async send(work, signal) {
      const session = await openSession(storage, await requireParent(), work, isUser(owner ?? null));
      signal.throwIfAborted();
      const run = await runs.start(session, { ...requestOf(work, session, parent), ...(owner && { owner }) });
      // The caller was stopped while this run was being started.
      if (signal.aborted && isAppError(signal.reason) && signal.reason.code !== "server")
        await runs.stop(run.run_id, false);
      return { session_id: session.session_id, run_id: run.run_id };
    },
  };
}

/**
 * A session's background agents, oldest first, without those in `except`. Ignores sessions that only claim to belong
 * here, and those of another owner.
 */
export async function listBackground(
  sources: BackgroundSources,
  parent: Session,
  except: ReadonlySet<unknown> = new Set(),
): Promise<BackgroundAgent[]> {
  const agents: BackgroundAgent[] = [];
  for (const session of await sessionsOfAgents(sources, parent)) {
    const origin = BackgroundOrigin.safeParse(session.metadata).data?.background;
    if (origin === undefined || except.has(session.session_id)) continue;
    const { agent: name, task, cleared = false } = origin;
    agents.push(await describeAgent(sources, session, { name, task, cleared }));
  }
  return agents;
}

/** Metadata the server writes for one session, not to be copied to another. */
const ofOneSession = new Set([
  "graph_id",
  "assistant_id",
  "thread_id",
  "title",
  "copied_from",
  "forked_from",
  "cron_id",
]);

/** `isShownAs`: access rules match session metadata, so the agent's session gets that of its parent (`auth.path`). */
async function openSession(
  { sessions }: Storage,
  parent: Session,
  work: BackgroundWork,
  isShownAs: boolean,
): Promise<Session> {
  const now = clusterDate();
  const { call_id, place, name, task } = work;
  const session: Session = {
    session_id: backgroundSessionId(parent.session_id, work),
    owner: parent.owner,
    created_at: now,
    updated_at: now,
    metadata: {
      ...(isShownAs && Object.fromEntries(Object.entries(parent.metadata).filter(([key]) => !ofOneSession.has(key)))),
      background_of: parent.session_id,
      background: { call_id, place, agent: name, task },
    } satisfies z.infer<typeof BackgroundOrigin>,
    config: {},
    status: "idle",
    interrupts: {},
  };
  try {
    return await sessions.create(session);
  } catch (error) {
    if (!isAppError(error) || error.code !== "conflict") throw error;
    const known = await sessions.get(session.session_id);
    if (known === undefined || known.owner !== parent.owner) throw error;
    return known;
  }
}

function requestOf(work: BackgroundWork, { session_id }: Session, parent: Run): RunRequest {
  const key = `background/${session_id}`;
  return {
    assistant: workflowGraph,
    input: { messages: [{ role: "user", content: work.task, id: `${session_id}/task` }] },
    // The agent runs with the user's own keys.
    config: { configurable: userKeysOf(parent.kwargs.config["configurable"]) },
    context: { ...work.context },
    metadata: { [parentSessionKey]: parent.session_id },
    stream_mode: ["values", "messages-tuple", "custom"],
    stream_subgraphs: false,
    stream_resumable: true,
    temporary: false,
    durability: "sync",
    multitask_strategy: "enqueue",
    // The first submission counts, even if the agent's file has changed since.
    submission: { key, hash: key },
  };
}

async function describeAgent(
  { runs, checkpointer }: BackgroundSources,
  session: Session,
  agent: Pick<BackgroundAgent, "name" | "task" | "cleared">,
): Promise<BackgroundAgent> {
  const [run] = await runs.list(session.session_id, { limit: 1, offset: 0 });
  const { session_id, created_at: begun_at } = session;
  const status = statusOf(session, run);
  const facts = { session_id, run_id: run?.run_id ?? null, ...agent, status, begun_at };
  if (status !== "finished") return { ...facts, report: null };
  const tuple = await checkpointer.getTuple({ configurable: { thread_id: session_id, checkpoint_ns: "" } });
  const messages = tuple?.checkpoint.channel_values["messages"];
  // The workflow's state always has a list of messages.
  return { ...facts, report: reportOf(run, Array.isArray(messages) ? (messages as BaseMessage[]) : []) };
}

function watchOf(live: LiveActivity | undefined): BackgroundWatch | undefined {
  const loop = live?.loop;
  if (live === undefined || loop === undefined || loop === null) return undefined;
  const { iteration, max_iterations, tokens } = loop;
  const tool = live.calls.at(-1)?.tool_name ?? null;
  return { iteration, max_iterations, tokens, tool, text: live.text };
}

function statusOf({ status }: Session, run: Run | undefined): BackgroundAgent["status"] {
  if (status === "busy") return run?.status === "pending" ? "queued" : "working";
  return status === "interrupted" ? "asking" : "finished";
}

const Usage = z.object({ total_tokens: z.number() });
const Cost = z.object({ input_cost: z.number(), output_cost: z.number() });

/** Sums usage and cost of the agent's replies over all runs of its session. */
function reportOf(run: Run | undefined, messages: readonly BaseMessage[]): BackgroundReport {
  const replies = messages.filter((message) => isAIMessage(message));
  const costs = replies.flatMap((reply) => Cost.safeParse(reply.additional_kwargs["llm_metadata"]).data ?? []);
  const counts = {
    tokens: replies.reduce((sum, reply) => sum + (Usage.safeParse(reply.usage_metadata).data?.total_tokens ?? 0), 0),
    cost: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost.input_cost + cost.output_cost, 0),
  };
  if (run === undefined) {
    return { success: false, end_reason: "cancelled", reply: "It was stopped before it began.", ...counts };
  }
  const last = replies.at(-1);
  const reply = last?.text ?? "";
  if (run.status === "error" || run.status === "timeout") {
    const problem = run.error === null ? "" : ` ${run.error.message}`;
    return { success: false, end_reason: "error", reply: `It could not work.${problem}`, ...counts };
  }
  if (run.status === "interrupted") {
    return { success: false, end_reason: "cancelled", reply: reply === "" ? "It was stopped." : reply, ...counts };
  }
  const reason = last?.additional_kwargs["end_reason"];
  const end_reason = typeof reason === "string" ? reason : "answered";
  return { success: end_reason === "answered" || end_reason === "completed", end_reason, reply, ...counts };
}
