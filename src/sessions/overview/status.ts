import { z } from "zod";
import { usage } from "../../context/compression/compaction.ts";
import { modelLimits } from "@millrace/models/registry/model-limits";
import type { DefaultModel } from "./default-model.ts";
import { LiveActivity } from "../../agent-runs/activity.ts";
import { lastExecutedRun } from "@millrace/engine/runs/admission/executed-runs";
import { streamStateOf, streamStates } from "../../agent-runs/conversation.ts";
import { stateBetweenRuns } from "../../agent-runs/state-between-runs.ts";
import { type StopState, stopStates } from "@millrace/engine/runs/active-run";
import { ConversationState, ConversationSummary, LoopPhase, Orchestration, WorkMode } from "../../state.ts";
import { RunError, type Run, type Session } from "@millrace/engine/storage/records";
import { CompressButton, compressButtons } from "./compress-button.ts";
import { messagesIn } from "@millrace/engine/sessions/messages/conversation";
import type { OwnerScope } from "@millrace/engine/sessions/scope/owner-scope";
import { readValues } from "@millrace/engine/sessions/sessions";

/** Runs counted at most as waiting. */
const queueCounted = 1000;

const LoopStatus = z.object({
  phase: LoopPhase,
  iteration: z.number().int(),
  max_iterations: z.number().int(),
  tool: z.string().nullable().describe("The tool that was called last and has not ended"),
  tokens: z.number().describe("Of all model calls of this loop so far"),
});

const Waiting = z.object({
  kind: z.string(),
  question: z.string().nullable(),
  tool: z.string().nullable().describe("The tool that is locked until the answer has come"),
  tool_call_id: z.string().nullable(),
  keywords: z.array(z.string()).describe("Words that mean yes, where a plain word is an answer"),
});

/**
 * What a client needs to show a session. A new message may be sent while no run waits or works; a stop may be requested
 * once.
 */
export const SessionActivity = z.object({
  conversation_state: ConversationState,
  stream_state: z.enum(streamStates),
  transitions: z
    .array(z.object({ from: z.string(), to: z.string(), at: z.string() }))
    .describe("The last changes of the conversation in the run that works now"),
  stop_state: z.enum(stopStates).describe("Of the run that the session is at; idle when it is at none"),
  is_loading: z.boolean().describe("A run waits or works"),
  is_generating: z.boolean().describe("A run works, or is being stopped"),
  is_stop_loading: z.boolean().describe("A stop was asked for and is not over"),
  is_tool_executing: z.boolean(),
  can_send: z.boolean(),
  can_stop: z.boolean(),
  queue_length: z.number().int().describe("Runs that wait"),
  error: RunError.nullable().describe("Of the last run, when it failed"),
  orchestration: Orchestration.nullable().describe("Where the turn is; null for graphs that do not say"),
  loop: LoopStatus.nullable().describe("Null while no loop of ours works"),
  current_tool: z.string().nullable().describe("The tool that is called now, also while its call is being written"),
  current_tool_is_partial: z.boolean().describe("The model is still writing the call"),
  streaming_text: z.string().describe("What has come of the reply that is being streamed"),
  waits_for: z.array(Waiting).describe("Questions to the user"),
  usage_ratio: z.number().describe("Share of the model's window that the conversation takes"),
  compress_button_state: CompressButton,
  model: z
    .object({ name: z.string(), display_name: z.string() })
    .describe("The model that the last run chose; where it chose none, the server's main one"),
  work_mode: WorkMode.nullable(),
  workflow_locked: z.boolean().describe("A run works on the thread: its mode cannot be switched"),
});
export type SessionActivity = z.infer<typeof SessionActivity>;

/** Fields of our workflow's state; other graphs lack them or give them another form. */
const StateOfTurn = z.object({
  orchestration: Orchestration.nullable().default(null).catch(null),
  work_mode: WorkMode.nullable().default(null).catch(null),
  conversation_summary: ConversationSummary.nullable().default(null).catch(null),
});

/** What a session is doing now; survives a restart. `shown` adds the calls that wait for a person to the stored values. */
export async function readActivity(
  {
    storage,
    runs,
  }: { storage: OwnerScope["storage"]; runs: Pick<OwnerScope["runs"], "list" | "stopStateOf" | "liveOf"> },
  session: Session,
  usual: DefaultModel,
  shown: (values: unknown) => Promise<unknown>,
): Promise<SessionActivity> {
  const { session_id: id } = session;
  const isBusy = session.status === "busy";
  const [values, worked, waiting, stop_state = "idle", liveState] = await Promise.all([
    readValues(storage, id),
    lastExecutedRun(runs, id),
    runs.list(id, { limit: queueCounted, offset: 0, status: "pending" }),
    isBusy ? runs.stopStateOf(id) : undefined,
    isBusy ? runs.liveOf(id) : undefined,
  ]);
  // A run stopped before it started has changed nothing.
  const last = waiting[0] ?? worked;
  // A server of another version may say it otherwise.
  const live = LiveActivity.safeParse(liveState).data;
  const messages = messagesIn(values);
  const conversation_state = live?.conversation ?? stateBetweenRuns(last, session, messages);
  const waits = isBusy ? [] : waitsFor(session);
  const current = waits.length === 0 ? values : await shown(values);
  const { orchestration, work_mode, conversation_summary } = StateOfTurn.parse(current ?? {});
  const model = modelOf(last) ?? usual.model;
  const { context } = modelLimits(model, usual.contextLimit, usual.profile);
  const window = live?.window ?? usage(messages, conversation_summary, context);
  return {
    conversation_state: withText(conversation_state, live?.text),
    stream_state: streamStateOf(conversation_state),
    ...buttons(isBusy, stop_state),
    queue_length: waiting.length,
    error: last?.error ?? null,
    ...liveStatus(live),
    waits_for: waits,
    usage_ratio: window.ratio,
    compress_button_state: compressButtons[window.level],
    orchestration: orchestration && { ...orchestration, state: live?.turn ?? orchestration.state },
    model: { name: model, display_name: usual.profile(model).display_name },
    work_mode,
    workflow_locked: isBusy,
  };
}

function buttons(
  isBusy: boolean,
  stop_state: StopState,
): Pick<SessionActivity, "stop_state" | `is_${"loading" | "generating" | "stop_loading"}` | `can_${"send" | "stop"}`> {
  const is_stop_loading = stop_state === "stop_requested" || stop_state === "stopping";
  return {
    stop_state,
    is_loading: isBusy,
    is_generating: stop_state === "running" || is_stop_loading,
    is_stop_loading,
    can_send: !isBusy,
    can_stop: isBusy && !is_stop_loading && stop_state !== "stopped",
  };
}

/** The model that the last run named. */
function modelOf(run: Run | undefined): string | undefined {
  const model = run?.kwargs.context["model"];
  return typeof model === "string" ? model : undefined;
}

/** The state from the beginning of the reply, with the text that has come since. */
function withText(state: ConversationState, text: string | undefined): ConversationState {
  return state.state === "StreamingResponse" && text !== undefined ? { ...state, accumulated_text: text } : state;
}

/** What only a run that works can say. */
function liveStatus(
  live: LiveActivity | undefined,
): Pick<
  SessionActivity,
  "is_tool_executing" | "current_tool" | "current_tool_is_partial" | "loop" | "streaming_text" | "transitions"
> {
  const open = live?.calls ?? [];
  const current = open.findLast(({ status }) => status === "executing") ?? open.at(-1);
  const tool = current?.tool_name ?? null;
  const writing = live?.writing ?? null;
  const loop = live?.loop ?? null;
  return {
    is_tool_executing: current?.status === "executing",
    current_tool: tool ?? writing,
    current_tool_is_partial: tool === null && writing !== null,
    loop: loop && { ...loop, tool },
    streaming_text: live?.text ?? "",
    transitions: [...(live?.moves ?? [])],
  };
}

const PendingQuestion = z.object({
  kind: z.string().default("question").catch("question"),
  question: z.string().nullable().default(null).catch(null),
  tool: z.string().nullable().default(null).catch(null),
  tool_call_id: z.string().nullable().default(null).catch(null),
  keywords: z.array(z.string()).default([]).catch([]),
});

/** The session's open questions; of a graph that is not ours only that there is one. */
function waitsFor({ interrupts }: Session): SessionActivity["waits_for"] {
  return Object.values(interrupts)
    .flat()
    .map(({ value }) => PendingQuestion.parse(typeof value === "object" && value !== null ? value : {}));
}
