import { isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, Send, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { deletionList } from "../context/pruning/deletion-marks.ts";
import { shortIds } from "../context/pruning/short-ids.ts";
import { AppError } from "@millrace/engine/errors/errors";
import { emit, loopCall, type LoopCall } from "./request.ts";
import { turnOf } from "./limits/review.ts";
import { requestedCalls } from "./tool-call/requested-calls.ts";
import { decideCall } from "./tool-call/rulings.ts";
import type { ToolCallStatus } from "../state.ts";
import { addToMessages } from "@millrace/engine/message-list";
import type { LoopState, LoopUpdate } from "./state.ts";
import { prepareCall } from "../tools/runtime/run-tool.ts";
import {
  isDecided,
  writtenArguments,
  type RequestedCall,
  type RuledCall,
  type Ruling,
  type ToolTask,
} from "./tool-call/tool-task.ts";

/** The next step of the loop, or a task per requested call: its check, or the call itself. */
type Goto = Send[] | "call_model" | "assemble" | "ask_about_failure" | "finish";

/**
 * Makes a step return its next step as a Command, computed from the updated state. A conditional edge would read the
 * whole state once more.
 */
export function routed(
  step: (state: LoopState, config: LangGraphRunnableConfig) => Promise<LoopUpdate>,
  next: (state: LoopState, config: LangGraphRunnableConfig) => Goto | Promise<Goto>,
): (state: LoopState, config: LangGraphRunnableConfig) => Promise<Command> {
  return async (state, config) => {
    const update = await step(state, config);
    // The loop's steps only add message objects.
    const messages = addToMessages(state.messages, (update.messages ?? []) as BaseMessage[]);
    // Fields used for routing have no reducer; only messages, delegations and the time have one.
    const after = { ...state, ...update, messages } as LoopState;
    return new Command({ update, goto: await next(after, config) });
  };
}

/** After `assemble` or the user's decision about a failure: the model, or the end. */
export function afterAssemble(state: Pick<LoopState, "end_reason">): "call_model" | "finish" {
  return state.end_reason === null ? "call_model" : "finish";
}

/** After a model call: a task per requested call, a forced round, the question about a failure, or the end. */
export async function afterModel(
  state: Pick<LoopState, "messages" | "forced" | "failure" | "end_reason" | "iteration_count">,
  config: LangGraphRunnableConfig,
): Promise<Goto> {
  if (state.failure !== null) return "ask_about_failure";
  if (state.end_reason !== null) return "finish";
  if (state.forced !== null) return "assemble";
  const call = loopCall(config);
  const answer = state.messages.at(-1);
  if (answer === undefined || !isAIMessage(answer)) {
    throw new AppError("invalid_state", "The loop goes on without a reply to go on from.");
  }
  const turn = turnOf(state.messages, call);
  const calls = requestedCalls(answer, state, call);
  call.early?.identify(calls);
  const ruled = await Promise.all(
    calls.map(async (requested): Promise<RuledCall> => {
      if (call.early?.has(requested.call.id) !== true) emitStatus(requested, "pending", config);
      const ruling = answerFromConversation(
        await decideCall(requested, turn, config, state.messages),
        requested,
        state.messages,
        call,
      );
      // Emitted here because `check_calls` restarts at every answer.
      if (ruling.kind === "ask" || ruling.kind === "chain") emitStatus(requested, "awaiting_confirmation", config);
      if (ruling.kind === "question") emitStatus(requested, "awaiting_answer", config);
      return { ...requested, ruling };
    }),
  );
  // A reply that asks nothing needs no step that could ask. One that asks has all its calls wait for the answers.
  return tasksOf(ruled) ?? ruled.map((checked) => new Send("check_calls", checked));
}

/** The tool tasks of calls that all are decided. */
function tasksOf(ruled: readonly RuledCall[]): Send[] | undefined {
  const tasks: Send[] = [];
  for (const { ruling, ...requested } of ruled) {
    if (ruling === undefined || !isDecided(ruling)) return undefined;
    const task: ToolTask = { ...requested, outcome: ruling };
    tasks.push(new Send("call_tool", task));
  }
  return tasks;
}

/** An allowed call that only reads the conversation gets its result here, where the conversation is known. */
function answerFromConversation(
  ruling: Ruling,
  { call, ledger_id }: RequestedCall,
  messages: BaseMessage[],
  loop: LoopCall,
): Ruling {
  const tool = loop.tools.find(({ name }) => name === call.name);
  if (ruling.kind !== "run" || tool?.inTurn?.reads === undefined) return ruling;
  const prepared = prepareCall(tool, writtenArguments(call.args));
  if (prepared.kind === "invalid") return { kind: "answer", result: prepared.result };
  const all = [...loop.history, ...messages];
  const place = Number(ledger_id.slice(ledger_id.lastIndexOf("/") + 1));
  const conversation = { deletions: deletionList(all, place), known: new Set(shortIds(all).values()) };
  return { kind: "answer", result: tool.inTurn.reads(prepared.input, conversation) };
}

function emitStatus({ call }: RequestedCall, status: ToolCallStatus, config: LangGraphRunnableConfig): void {
  emit(config, { type: "tool_status", tool_call_id: call.id, tool_name: call.name, status });
}
