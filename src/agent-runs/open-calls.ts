import type { BaseMessage } from "@langchain/core/messages";
import { INTERRUPT, isInterrupted, type StateSnapshot } from "@langchain/langgraph";
import { BaseCheckpointSaver, type CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import type { ServedGraph, StatePlace } from "@millrace/engine/graphs/served-graph";
import type { Run } from "@millrace/engine/storage/records";
import { isAIMessage, isBaseMessage, withoutSealed } from "@millrace/engine/message-kinds";
import { servicesKey, type SharedRunServices } from "../loop/services.ts";
import { lastToolOf } from "../nodes/turn/node-request.ts";
import { Orchestration } from "../state.ts";
import { addToMessages } from "@millrace/engine/message-list";
import type { ReplaceChunk } from "@millrace/engine/runs/companion";
import { finishedTasks } from "@millrace/engine/runs/status";
import { hasLoop, nodesWithLoop } from "./keep-turn.ts";
import type { GraphChunk } from "@millrace/engine/runs/events/to-events";

const WithMessages = z.looseObject({ messages: z.array(z.custom<BaseMessage>(isBaseMessage)) });
const Confirmation = z.looseObject({ value: z.looseObject({ kind: z.enum(["confirmation", "chain_confirm"]) }) });
const Confirming = z.union([
  Confirmation,
  z.array(z.unknown()).refine((all) => all.some((one) => Confirmation.safeParse(one).success)),
]);
const WithOrchestration = z.looseObject({ orchestration: Orchestration });

/** An unfinished step. */
type OpenTask = Pick<StateSnapshot["tasks"][number], "id" | "name">;

/** The session whose state it is, and where its checkpoints are. */
interface Place {
  graph: ServedGraph;
  sessionId: string;
  /** Default: the graph's own. */
  saver?: BaseCheckpointSaver | undefined;
}

/**
 * Adds to a state the messages of unfinished loop calls. They enter the state when the step ends, under the same ids,
 * but a person who approves a call must see it earlier. Returns the given values if there is nothing to add or the
 * graph does not call our loop.
 */
export async function withOpenCalls<Values>(values: Values, open: readonly OpenTask[], place: Place): Promise<Values> {
  const { graph, sessionId, saver = graph.checkpointer } = place;
  const known = WithMessages.safeParse(values).data;
  if (known === undefined || !(saver instanceof BaseCheckpointSaver)) return values;
  const loopNodes = nodesWithLoop(graph);
  let { messages } = known;
  let isAsking = false;
  for (const { name, id } of open) {
    if (!loopNodes.has(name)) continue;
    const tuple = await saver.getTuple({ configurable: { thread_id: sessionId, checkpoint_ns: `${name}:${id}` } });
    const added = WithMessages.safeParse(tuple?.checkpoint.channel_values).data?.messages ?? [];
    // Silent loop calls, whose answers only the program reads, have no tools.
    if (!added.some((message) => isAIMessage(message) && (message.tool_calls?.length ?? 0) > 0)) continue;
    messages = addToMessages(messages, added.map(asShown));
    isAsking ||= asksToConfirm(tuple);
  }
  return messages === known.messages ? values : { ...values, messages, ...orchestrationOf(values, messages, isAsking) };
}

/** Whether a step waits for a call to be confirmed. */
function asksToConfirm(tuple: CheckpointTuple | undefined): boolean {
  return (tuple?.pendingWrites ?? []).some(
    ([, channel, value]) => channel === INTERRUPT && Confirming.safeParse(value).success,
  );
}

/** The orchestration record of a waiting turn: state `tool_call`, and the last of the open calls' tools. */
function orchestrationOf(values: unknown, messages: readonly BaseMessage[], isAsking: boolean): object {
  const known = WithOrchestration.safeParse(values).data?.orchestration;
  if (known === undefined) return {};
  const requires_confirm = known.requires_confirm || isAsking;
  return { orchestration: { ...known, state: "tool_call", requires_confirm, ...lastToolOf(messages) } };
}

/** A copy without sealed fields, as the state will hold it; the loop's own message is unchanged. */
function asShown(message: BaseMessage): BaseMessage {
  const additional_kwargs = withoutSealed(message.additional_kwargs);
  if (additional_kwargs === message.additional_kwargs) return message;
  const copy: BaseMessage = Object.create(Object.getPrototypeOf(message), Object.getOwnPropertyDescriptors(message));
  copy.additional_kwargs = additional_kwargs;
  return copy;
}

/** A state as the API shows it: with the calls that wait for a person. */
export async function shownState(state: StateSnapshot, place: Place): Promise<StateSnapshot> {
  if (!hasLoop(place.graph)) return state;
  const asking = state.tasks.filter(({ interrupts }) => interrupts.length > 0);
  if (asking.length === 0) return state;
  const finished = await endedTasks(state, place);
  const open = asking.filter(({ id }) => !finished.has(id));
  return { ...state, values: await withOpenCalls(state.values, open, place) };
}

/** Steps of an earlier state that have ended since. */
async function endedTasks(state: StateSnapshot, { graph, saver }: Place): Promise<Set<string>> {
  const ended = await finishedTasks(saver ?? graph.checkpointer, state);
  return new Set([...ended, ...state.tasks.filter(({ result }) => result !== undefined).map(({ id }) => id)]);
}

/** Adds to an idle session's values the calls it asks about. `interrupts` are its open questions by task id. */
export async function withAskedCalls<Values>(
  values: Values,
  interrupts: Readonly<Record<string, unknown>>,
  { graph, sessionId }: StatePlace,
): Promise<Values> {
  const ids = Object.keys(interrupts);
  if (ids.length === 0) return values;
  const open = [...nodesWithLoop(graph)].flatMap((name) => ids.map((id) => ({ name, id })));
  return await withOpenCalls(values, open, { graph, sessionId });
}

/** One attempt of a run, as far as its open calls need it. */
interface CallingWalk {
  run: Run;
  graph: ServedGraph;
  services: SharedRunServices;
  saver: BaseCheckpointSaver;
  resume: boolean;
}

/**
 * Adds open calls to streamed states: to the first state of a resumed run, which precedes the resumed step, and to the
 * state before a pause. `undefined` leaves the chunk unchanged. Only for graphs that call our loop.
 */
export function replaceWithCalls({ run, graph, services, saver, resume }: CallingWalk): ReplaceChunk {
  const { session_id: sessionId, graph_id } = run;
  const lent = { [servicesKey]: services, __pregel_checkpointer: saver };
  const withCalls = async <Values>(values: Values): Promise<Values> => {
    const { tasks } = await graph.getState({ configurable: { thread_id: sessionId, graph_id, ...lent } });
    return await withOpenCalls(values, tasks, { graph, sessionId, saver });
  };
  const beforePause = async (pause: GraphChunk, values: Record<string, unknown>): Promise<GraphChunk[]> => {
    const shown = await withCalls(values);
    return shown === values ? [pause] : [[[], "values", shown], pause];
  };
  let awaitsFirstState = resume || run.kwargs.command?.["resume"] !== undefined;
  return (chunk: GraphChunk, values: Record<string, unknown> | undefined): Promise<GraphChunk[]> | undefined => {
    const [path, mode, payload] = chunk;
    if (mode !== "values" || path.length > 0) return undefined;
    if (isInterrupted(payload)) return values && beforePause(chunk, values);
    if (!awaitsFirstState) return undefined;
    awaitsFirstState = false;
    return withCalls(payload).then((shown): GraphChunk[] => [[path, mode, shown]]);
  };
}
