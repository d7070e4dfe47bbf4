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

/** What the beginning of a turn sets: its modes, and the orchestration at `plan`. */
export type TurnBegin = Pick<GraphState, "work_mode" | "chat_mode" | "orchestration" | "clarification">;

/**
 * Begins a turn, whatever state the last one was left in, and takes over the modes that the run chose. A turn whose
 * question was answered goes on.
 */
export function beginTurn(state: GraphState, config: LangGraphRunnableConfig): TurnBegin {
  const context = runContext(config);
  const { orchestration } = state;
  const goesOn = state.clarification !== null && orchestration.state === "decide" && state.route === "clarify";
  const work_mode = context.work_mode ?? state.work_mode;
  if (work_mode !== state.work_mode) {
    emit(config, { type: "work_mode_changed", from_mode: state.work_mode, to_mode: work_mode });
  }
  tellModel(state, modelForWork("main", [], context, config), config);
  const from = goesOn ? orchestration.state : advance(config, orchestration.state, "idle");
  return {
    work_mode,
    chat_mode: context.chat_mode ?? state.chat_mode,
    orchestration: { ...orchestration, state: advance(config, from, "plan") },
    clarification: null,
  };
}

const Answered = z.object({ model_name: z.string() });

/** Tells that another model is asked than before, of which the last reply with counted tokens says who it was. */
function tellModel(
  { messages }: Pick<GraphState, "messages">,
  to_model: string,
  config: LangGraphRunnableConfig,
): void {
  const last = messages.findLast((message) => Answered.safeParse(message.additional_kwargs["llm_metadata"]).success);
  const from_model = Answered.safeParse(last?.additional_kwargs["llm_metadata"]).data?.model_name;
  if (from_model === undefined || from_model === to_model) return;
  emit(config, { type: "model_changed", from_model, to_model });
}

/** Where the turn is, and what its tools have found out for the session. */
type TurnEnd = Pick<GraphState, "orchestration"> & Partial<Pick<GraphState, "error_context" | "task_plan">>;

/** Fields of the state that results of tools set, the later one before the earlier. */
function learned(messages: readonly BaseMessage[]): Partial<GraphState> {
  const Learned = z.object({ session: settableFields() });
  return messages
    .filter((message) => isToolMessage(message))
    .map(({ additional_kwargs }) => Learned.safeParse(additional_kwargs).data?.session)
    .reduce<Partial<GraphState>>((all, one) => ({ ...all, ...one }), {});
}

let settable: z.ZodObject | undefined;

/** What tools may set: the last error, the list of steps, and the fields of the toolkits that the workflow is drawn with. */
function settableFields(): z.ZodObject {
  const own: z.ZodRawShape = Object.assign({}, ...workflowAdditions().map(({ state }) => state));
  const fields = Object.entries({ ...own, error_context: stateFields.error_context, task_plan: stateFields.task_plan });
  // A field that is not set keeps its value: no default takes its place.
  const bare = (field: z.core.$ZodType): z.core.$ZodType => (field instanceof z.ZodDefault ? field.unwrap() : field);
  settable ??= z.object(Object.fromEntries(fields.map(([name, field]) => [name, z.optional(bare(field))])));
  return settable;
}

/** Notes what a loop call did for the turn, and where the turn is now. */
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
