import { isAIMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, Send, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { deletionList } from "../context/pruning/deletion-marks.ts";
import { shortIds } from "../context/pruning/short-ids.ts";
import { AppError } from "@millrace/engine/errors/errors";
import { isForcedNow } from "./model-call/callable-tools.ts";
import { callsPerReply } from "./limits/limits.ts";
import { cutCalls } from "./reply/reply-message.ts";
import { emit, loopCall, type LoopCall } from "./request.ts";
import { turnOf } from "./limits/review.ts";
import { ruleOn } from "./tool-call/rulings.ts";
import type { ToolCallStatus } from "../state.ts";
import { addToMessages } from "@millrace/engine/message-list";
import type { LoopState, LoopUpdate } from "./state.ts";
import { prepareCall } from "../tools/runtime/run-tool.ts";
import { writtenArguments, type RequestedCall, type RuledCall, type Ruling } from "./tool-call/tool-task.ts";

/** Where the loop goes after a step: to one step, or to a check of each requested call. */
type Goto = Send[] | "call_model" | "assemble" | "ask_about_failure" | "finish";

/**
 * A step that says itself what comes after it, from the state as it will be then. A conditional edge would do the same,
 * and read the whole state once more for it.
 */
export function routed(
  step: (state: LoopState, config: LangGraphRunnableConfig) => Promise<LoopUpdate>,
  next: (state: LoopState, config: LangGraphRunnableConfig) => Goto | Promise<Goto>,
): (state: LoopState, config: LangGraphRunnableConfig) => Promise<Command> {
  return async (state, config) => {
    const update = await step(state, config);
    // The steps of the loop add messages, and nothing that would be one only after it was read.
    const messages = addToMessages(state.messages, (update.messages ?? []) as BaseMessage[]);
    // What decides here is written as it is: besides messages only delegations and the time have reducers.
    const after = { ...state, ...update, messages } as LoopState;
    return new Command({ update, goto: await next(after, config) });
  };
}

/** After the view is made, or a person has decided about a failure: the model, or the end that was found. */
export function afterAssemble(state: Pick<LoopState, "end_reason">): "call_model" | "finish" {
  return state.end_reason === null ? "call_model" : "finish";
}

/**
 * What comes after a model call, as was decided there: one check per requested call, with what the rules say of it;
 * another round that is forced; the question about a call that failed; or the end.
 */
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
  return Promise.all(
    requestedCalls(answer, state, call).map(async (requested) => {
      tellStatus(requested, "pending", config);
      const ruling = readOff(await ruleOn(requested, turn, config, state.messages), requested, state.messages, call);
      // Told here and not by `check_calls`, which begins anew at every answer.
      if (ruling.kind === "ask" || ruling.kind === "chain") tellStatus(requested, "awaiting_confirmation", config);
      if (ruling.kind === "question") tellStatus(requested, "awaiting_answer", config);
      const ruled: RuledCall = { ...requested, ruling };
      return new Send("check_calls", ruled);
    }),
  );
}

/** A call that is allowed and only reads the conversation has its result at once, for here the conversation is known. */
function readOff(ruling: Ruling, { call, ledger_id }: RequestedCall, messages: BaseMessage[], loop: LoopCall): Ruling {
  const tool = loop.tools.find(({ name }) => name === call.name);
  if (ruling.kind !== "run" || tool?.inTurn?.reads === undefined) return ruling;
  const prepared = prepareCall(tool, writtenArguments(call.args));
  if (prepared.kind === "invalid") return { kind: "answer", result: prepared.result };
  const all = [...loop.history, ...messages];
  const place = Number(ledger_id.slice(ledger_id.lastIndexOf("/") + 1));
  const conversation = { deletions: deletionList(all, place), known: new Set(shortIds(all).values()) };
  return { kind: "answer", result: tool.inTurn.reads(prepared.input, conversation) };
}

function tellStatus({ call }: RequestedCall, status: ToolCallStatus, config: LangGraphRunnableConfig): void {
  emit(config, { type: "tool_status", tool_call_id: call.id, tool_name: call.name, status });
}

/** Whether one of a reply's calls may ask for agents: then they are sent once all its calls are through. */
function asksAgents({ tool_calls = [] }: AIMessage, { tools }: LoopCall): boolean {
  return tool_calls.some(({ name }) =>
    tools.some((tool) => tool.name === name && tool.inTurn?.delegates !== undefined),
  );
}

/** The calls that a reply asks for, up to the number that one reply may hold. */
function requestedCalls(
  answer: AIMessage,
  { messages, iteration_count: iteration }: Pick<LoopState, "messages" | "iteration_count">,
  loop: LoopCall,
): RequestedCall[] {
  const maxCalls = callsPerReply(loop);
  // Agents that work side by side do not see each other's ids, which some servers repeat.
  const place = loop.agent === undefined ? "" : `${loop.agent.id}/`;
  const cut = cutCalls(answer);
  const isForced = isForcedNow(messages.slice(0, -1), loop);
  const besideAgents = asksAgents(answer, loop);
  return (answer.tool_calls ?? []).map((call, index) => ({
    call: { id: call.id ?? "", name: call.name, args: call.args },
    ledger_id: `${place}${answer.id}/${index}`,
    iteration,
    over_limit: index >= maxCalls,
    ...(isForced ? { forced: true as const } : {}),
    ...(cut.has(call.id) ? { cut: true as const } : {}),
    ...(besideAgents ? { beside_agents: true as const } : {}),
  }));
}
