import type { BaseMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { StopReason } from "@millrace/engine/run-events";
import type { JsonObject, Run } from "@millrace/engine/storage/records";
import type { Storage } from "@millrace/engine/storage/storage";
import type { Logger } from "@millrace/engine/logger";
import type { InvokeCallbacks } from "../callbacks/callback.ts";
import type { CustomEvent } from "../events.ts";
import type { GraphExtension, ServedGraph } from "@millrace/engine/graphs/served-graph";
import { createProgress, type Progress } from "../loop/progress.ts";
import { servicesKey, type RunServices, type RunServicesProvider, type SharedRunServices } from "../loop/services.ts";
import type { ActiveRun } from "@millrace/engine/runs/active-run";
import type { RunExtension, RunStarter } from "@millrace/engine/runs/options";
import type {
  RunCompanion,
  KeptTurn as EmittedTurn,
  ReplaceChunk,
  StreamCompanion,
} from "@millrace/engine/runs/companion";
import type { EventBody } from "@millrace/engine/runs/events/log";
import type { Ending } from "@millrace/engine/runs/status";
import { modelPrice } from "@millrace/models/registry/model-limits";
import type { ConversationState } from "../state.ts";
import type { Tool } from "../tools/runtime/tool.ts";
import { toolsOfOwner } from "../toolkits/tools-of-owner.ts";
import { Activity, type LiveActivity } from "./activity.ts";
import { backgroundOf, type BackgroundRuns } from "./background.ts";
import type { ConversationEvent } from "./conversation.ts";
import { keepTurn, type KeptTurn, nodesWithLoop, type TurnToKeep } from "./keep-turn.ts";
import { logEvent } from "./log-event.ts";
import { replaceWithCalls, shownState, withAskedCalls } from "./open-calls.ts";
import { lastReplyId } from "./state-between-runs.ts";
import { createRunCallbacks, type RunCallbacks } from "./run-callbacks.ts";

/** What the agent needs from the server to accompany its runs. */
export interface AgentParts {
  storage: Storage;
  logger: Logger;
  /** Services that every run gets. */
  services: SharedRunServices;
  /** Calls the server's callbacks; absent if there are none. */
  invokeCallbacks?: InvokeCallbacks | undefined;
  /** Called after each run of a conversation. */
  onConversation?: (run: Run) => void;
  /** Called when a session is deleted; toolkits end their work for it. */
  forget?: (sessionId: string) => Promise<void>;
}

/** The agent's part of one run: services for the loop, events, and what a stop leaves. */
export class AgentRun implements RunCompanion, StreamCompanion, RunServicesProvider {
  readonly #active: ActiveRun;
  readonly #parts: AgentParts;
  readonly #runs: RunStarter;
  /** Work since the last checkpoint; `undefined` if this run is not followed. */
  #progress: Progress | undefined;
  /** State of the current attempt; `undefined` before the first one, or if this run is not followed. */
  #activity: Activity | undefined;
  #callbacks: RunCallbacks | undefined;
  /** Tools the owner may use (absent: all) and tools from sources (absent: none), read anew for each attempt. */
  #allowedTools: RunServices["allowedTools"];
  #addedTools: readonly Tool[] | undefined;
  #services: RunServices | undefined;
  /** Whether the graph calls our loop. Only then are events of the conversation emitted. */
  #callsLoop = false;

  constructor(active: ActiveRun, parts: AgentParts, runs: RunStarter) {
    this.#active = active;
    this.#parts = parts;
    this.#runs = runs;
  }

  /** The current activity; see `#activity`. */
  get live(): LiveActivity | undefined {
    const answer = this.#progress?.unfinished().at(-1);
    const said = { text: answer?.text ?? "", writing: answer?.calls.at(-1)?.name || null };
    return this.#activity && { ...this.#activity.shown, ...said };
  }

  onAttemptStart(resumes: boolean): void {
    const { invokeCallbacks } = this.#parts;
    this.#callbacks = invokeCallbacks && createRunCallbacks(this.#active.run, invokeCallbacks);
    this.#callbacks?.onAttemptStart(resumes);
  }

  /** Each attempt starts from `Idle`, also after a crash. */
  onGraphStart(hasLoop: boolean, resumes: boolean): StreamCompanion | undefined {
    this.#callbacks?.onGraphStart(resumes);
    const { stream_mode: modes } = this.#active.run.kwargs;
    this.#callsLoop = hasLoop;
    // For other graphs only messages are followed, so that a session can show the partial reply.
    if (!this.#callsLoop && !modes.includes("messages") && !modes.includes("messages-tuple")) return undefined;
    this.#progress ??= createProgress();
    this.#activity = new Activity();
    if (this.#callsLoop) this.#emit({ type: "workflow_locked" });
    this.#emitState(this.#activity.conversation);
    this.#applyToConversation({ kind: "sent" });
    return this;
  }

  async provideConfigurable(signal: AbortSignal): Promise<JsonObject> {
    const { toolSources = [], ownerTools = {} } = this.#parts.services;
    this.#services = undefined;
    // Most servers limit no owner and have no source of tools that come and go, for which only our graphs have a use.
    if (Object.keys(ownerTools).length > 0) {
      this.#allowedTools = await allowedToolsOf(this.#active.run, this.#parts);
    }
    if (this.#callsLoop && toolSources.length > 0) {
      this.#addedTools = (await Promise.all(toolSources.map((source) => source.tools(signal)))).flat();
    }
    return { [servicesKey]: this };
  }

  /** The loop's services, created on first use: most graphs do not call our loop. */
  get services(): RunServices {
    return (this.#services ??= this.#makeServices());
  }

  #makeServices(): RunServices {
    const { storage, logger, services } = this.#parts;
    const { run, runWithUser } = this.#active;
    const { ledger, operations, requests } = this.#active.store;
    return {
      ...services,
      ledger,
      operations,
      requests,
      account: this.#active.account,
      toolkitServices: services.toolkitServices.forSession({ sessionId: run.session_id, owner: run.kwargs.owner }),
      allowedTools: this.#allowedTools,
      ...(this.#addedTools && { addedTools: this.#addedTools }),
      progress: (this.#progress ??= createProgress()),
      onEvent: (event) => {
        logEvent(logger, this.#active.run, event);
        this.#callbacks?.onEvent(event);
        if (!this.#isStreamed && !this.#active.ended) this.#activity?.onEvent(event);
      },
      // A temporary session ends with its run, so it could not report on agents in the background.
      background: run.kwargs.temporary ? undefined : backgroundOf(runWithUser, storage, this.#background()),
    };
  }

  chunkReplacer(graph: ServedGraph, saver: BaseCheckpointSaver, resume: boolean): ReplaceChunk | undefined {
    if (!this.#callsLoop) return undefined;
    return replaceWithCalls({ run: this.#active.run, graph, services: this.#parts.services, saver, resume });
  }

  /** Adds the time to events of a graph that calls our loop; other events stay as they are. */
  toEmitted(event: EventBody): EventBody {
    if (event.event !== "custom" || !this.#callsLoop || !isEvent(event.data)) return event;
    return { ...event, data: stamped(event.data) };
  }

  onChunk(mode: string, payload: unknown): void {
    if (mode === "custom" && this.#callsLoop) {
      // Custom events of such a graph are ours, or ignored.
      if (isEvent(payload)) this.#emitState(this.#activity?.onEvent(payload as CustomEvent));
    } else if (mode === "messages") {
      // LangGraph's `messages` mode always gives a pair of message and metadata.
      const [message, metadata] = payload as [BaseMessage, Record<string, unknown>];
      const path = metadata["langgraph_checkpoint_ns"];
      if (typeof path === "string") this.#progress?.recordChunk(path, message);
      this.#callbacks?.onMessage(message);
      // A sub-agent's text is not part of the reply, and with several agents each token would be a change.
      if (!("sub_agent" in metadata)) this.#emitState(this.#activity?.onMessage(message));
    }
  }

  onStopRequested(reason: StopReason): void {
    this.#emit({ type: "stop_requested", stop_reason: reason });
  }

  async saveStoppedTurn(reason: StopReason, turn?: Pick<TurnToKeep, "graph" | "saver">): Promise<EmittedTurn> {
    const { run } = this.#active;
    const services = { ...this.#parts.services, progress: this.#progress };
    const kept = turn === undefined ? nothingKept : await keepTurn({ ...turn, run, services, reason });
    return {
      values: kept.values,
      emit: () => {
        this.#emit({
          type: "stop_completed",
          stop_reason: reason,
          partial: kept.partial,
          tool_calls_executed: kept.executed,
          tool_calls_pending: kept.pending,
        });
        this.#end({ kind: "stopped", message_id: kept.reply_id });
      },
    };
  }

  onEnd(ending: Ending, values: Record<string, unknown> | undefined): void {
    if (this.#activity === undefined) return;
    switch (ending.kind) {
      case "done":
        return this.#end({ kind: "replied", message_id: this.#replyId(values) });
      case "stopped":
        // `stopped` has already emitted this, unless it failed.
        return this.#end({ kind: "stopped", message_id: null });
      case "failed":
        return this.#end({ kind: "failed", error: ending.error });
    }
  }

  onEndStored(run: Run, values: Record<string, unknown> | undefined): void {
    this.#callbacks?.onEndStored(run);
    // A graph without messages has no conversation.
    if (values === undefined || "messages" in values) this.#parts.onConversation?.(run);
  }

  /** Ends an attempt once: cancels calls that a stop cut off, unlocks the workflow, sets the final state. */
  #end(event: ConversationEvent): void {
    const activity = this.#activity;
    if (activity === undefined || activity.isOver) return;
    activity.isOver = true;
    if (event.kind === "stopped") {
      for (const call of activity.openCalls()) {
        const cancelled: CustomEvent = { type: "tool_status", ...call, status: "cancelled" };
        if (this.#callsLoop) this.#emit(cancelled);
        this.#emitState(activity.onEvent(cancelled));
      }
    }
    if (this.#callsLoop) this.#emit({ type: "workflow_unlocked" });
    const open = activity.openCalls().at(-1);
    // A turn that waits for an answer ends at that call, not at the reply.
    this.#applyToConversation(event.kind === "replied" && open !== undefined ? { kind: "call", ...open } : event);
  }

  /** The id of the attempt's last reply: from the final state, else from the loop calls of this attempt. */
  #replyId(values: Record<string, unknown> | undefined): string | null {
    const records = this.#progress?.records ?? [];
    const messages = records.filter(({ silent }) => !silent).flatMap(({ messages }) => messages);
    return lastReplyId(values?.["messages"]) ?? lastReplyId(messages);
  }

  #background(): BackgroundRuns {
    const { start, stop, companionOf } = this.#runs;
    return { start, stop, activity: (sessionId) => activityOf(companionOf(sessionId)) };
  }

  get #isStreamed(): boolean {
    return this.#active.run.kwargs.stream_mode.includes("custom");
  }

  /** Emits one of our events on the run's `custom` stream, if the run has one and the log has room. */
  #emit(event: CustomEvent): void {
    const { log } = this.#active;
    if (!this.#isStreamed || log.room() !== undefined) return;
    log.emit({ event: "custom", namespace: [], data: stamped(event) });
  }

  /** Applies an event and emits the new state if it changed, after the event that caused it. Never once per token. */
  #applyToConversation(event: ConversationEvent): void {
    this.#emitState(this.#activity?.apply(event));
  }

  #emitState(state: ConversationState | undefined): void {
    if (state !== undefined && this.#callsLoop) this.#emit({ type: "conversation_state", ...state });
  }
}

/** The agent's extension for graphs. */
export const agentGraphs: GraphExtension = { loopNodes: nodesWithLoop, shownState, shownValues: withAskedCalls };

/** The agent's extension for the server's runs. */
export function agentRuns(parts: AgentParts): RunExtension {
  return {
    // LangGraph's default of 25 ends a turn too early.
    recursionLimit: 500,
    priceOf: (vendor, name) => modelPrice(`${vendor}:${name}`, parts.services.models?.profile),
    createCompanion: (active, runs) => new AgentRun(active, parts, runs),
    saveUnfinishedTurn: async (turn) => {
      await keepTurn({ ...turn, services: parts.services });
    },
    forget: (sessionId) => parts.forget?.(sessionId),
  };
}

const nothingKept: KeptTurn = { partial: null, reply_id: null, executed: [], pending: [], values: undefined };

function stamped(event: object): object {
  return { ...event, time: new Date().toISOString() };
}

function isEvent(data: unknown): data is object {
  return typeof data === "object" && data !== null && "type" in data;
}

/** The activity of a companion's run; `undefined` before the graph starts. */
function activityOf(companion: RunCompanion | undefined): LiveActivity | undefined {
  return companion instanceof AgentRun ? companion.live : undefined;
}

/** The tools that the owner of the run or its session may use. */
async function allowedToolsOf(
  { session_id, kwargs }: Run,
  { storage, services: { ownerTools, toolkits } }: AgentParts,
): Promise<RunServices["allowedTools"]> {
  const owner = kwargs.owner ?? (await storage.sessions.get(session_id))?.owner ?? null;
  return ownerTools && toolsOfOwner(ownerTools, owner, toolkits);
}
