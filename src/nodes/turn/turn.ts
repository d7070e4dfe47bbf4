import { isToolMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod";
import type { LoopOutcome } from "../../loop/loop.ts";
import { advance, type TurnState } from "../../loop/limits/orchestration.ts";
import { emit } from "../../loop/request.ts";
import { stateFields, type GraphState, type Orchestration } from "../../state.ts";
import { workflowAdditions } from "../../toolkits/composition.ts";
import { modelForWork } from "./node-model.ts";
import { lastToolOf, runContext } from "./node-request.ts";

/** Fields that the beginning of a turn sets. */
export type TurnBegin = Pick<GraphState, "work_mode" | "chat_mode" | "orchestration" | "clarification">;

/**
 * Begins a turn from any state of the last one, with the modes the run chose. A turn whose question was answered goes
 * on.
 */
export function beginTurn(state: GraphState, config: LangGraphRunnableConfig): TurnBegin {
  const context = runContext(config);
  const { orchestration } = state;
  const isContinued = state.clarification !== null && orchestration.state === "decide" && state.route === "clarify";
  const work_mode = context.work_mode ?? state.work_mode;
  if (work_mode !== state.work_mode) {
    emit(config, { type: "work_mode_changed", from_mode: state.work_mode, to_mode: work_mode });
  }
  emitModelChange(state, modelForWork("main", [], context, config), config);
  const from = isContinued ? orchestration.state : advance(config, orchestration.state, "idle");
  return {
    work_mode,
    chat_mode: context.chat_mode ?? state.chat_mode,
    orchestration: { ...orchestration, state: advance(config, from, "plan") },
    clarification: null,
  };
}

const Answered = z.object({ model_name: z.string() });

/** Emits `model_changed` if the last reply with usage came from another model. */
function emitModelChange(
  { messages }: Pick<GraphState, "messages">,
  to_model: string,
  config: LangGraphRunnableConfig,
): void {
  const last = messages.findLast((message) => Answered.safeParse(message.additional_kwargs["llm_metadata"]).success);
  const from_model = Answered.safeParse(last?.additional_kwargs["llm_metadata"]).data?.model_name;
  if (from_model === undefined || from_model === to_model) return;
  emit(config, { type: "model_changed", from_model, to_model });
}

/** The turn's state, and fields set by its tools. */
type TurnEnd = Pick<GraphState, "orchestration"> & Partial<Pick<GraphState, "error_context" | "task_plan">>;

/** Fields of the state set by tool results; later ones win. */
function learned(messages: readonly BaseMessage[]): Partial<GraphState> {
  const Learned = z.object({ session: settableFields() });
  return messages
    .filter((message) => isToolMessage(message))
    .map(({ additional_kwargs }) => Learned.safeParse(additional_kwargs).data?.session)
    .reduce<Partial<GraphState>>((all, one) => ({ ...all, ...one }), {});
}

let settable: z.ZodObject | undefined;

/** Fields that tools may set: the last error, the plan, and the fields of the workflow's toolkits. */
function settableFields(): z.ZodObject {
  const own: z.ZodRawShape = Object.assign({}, ...workflowAdditions().map(({ state }) => state));
  const fields = Object.entries({ ...own, error_context: stateFields.error_context, task_plan: stateFields.task_plan });
  // Without defaults: a field that is not set must keep its value.
  const bare = (field: z.core.$ZodType): z.core.$ZodType => (field instanceof z.ZodDefault ? field.unwrap() : field);
  settable ??= z.object(Object.fromEntries(fields.map(([name, field]) => [name, z.optional(bare(field))])));
  return settable;
}

/** Records a loop call's last tool, set fields and the turn's new state. */
export function afterLoop(
  state: { orchestration: Orchestration },
  { messages, turnState }: LoopOutcome,
  to: TurnState,
  config: LangGraphRunnableConfig,
): TurnEnd {
  const { last_tool, last_result_summary } = lastToolOf(messages);
  const last = last_tool === null ? {} : { last_tool, last_result_summary };
  return {
    ...learned(messages),
    orchestration: { ...state.orchestration, ...last, state: advance(config, turnState, to) },
  };
}

/** Ends a turn with its reply. `outcome` is that of its last loop call. */
export function endTurn(
  state: { orchestration: Orchestration },
  outcome: LoopOutcome | undefined,
  config: LangGraphRunnableConfig,
): TurnEnd {
  return outcome === undefined
    ? { orchestration: { ...state.orchestration, state: advance(config, state.orchestration.state, "respond") } }
    : afterLoop(state, outcome, "respond", config);
}
