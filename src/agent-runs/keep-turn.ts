import { randomUUID } from "node:crypto";
import { ToolMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { StateSnapshot } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import {
  dropSealed,
  interruptedResult,
  isAIMessage,
  isBaseMessage,
  isHumanMessage,
  isToolMessage,
  repairToolPairs,
  textOf,
} from "@millrace/engine/message-kinds";
import type { PartialAnswer } from "../events.ts";
import type { StopReason } from "@millrace/engine/run-events";
import type { ServedGraph } from "@millrace/engine/graphs/served-graph";
import { toToolMessage } from "../loop/tool-call/result-message.ts";
import { loop } from "../loop/loop.ts";
import { toPartial } from "../loop/reply/partial-answer.ts";
import { addMessages, StreamedAnswer, type Progress } from "../loop/progress.ts";
import { servicesKey, type SharedRunServices } from "../loop/services.ts";
import { LoopLimits } from "../state.ts";
import type { Run, ToolCallRecord } from "@millrace/engine/storage/records";
import { closingMessage } from "./closing-message.ts";
import type { ToolResult } from "../tools/runtime/result.ts";

/**
 * The turn to keep and why it ended: the turn of `run`, or a former one that left a question open (`abandoned`) or
 * failed (`failed`).
 */
export interface TurnToKeep {
  graph: ServedGraph;
  run: Run;
  services: SharedRunServices;
  reason: StopReason | "abandoned" | "failed";
  /** Saver to write to; default the graph's own. */
  saver?: BaseCheckpointSaver;
}

/** What was kept of an unfinished turn; `values` is the session's new state if it changed. */
export interface KeptTurn {
  partial: PartialAnswer | null;
  /**
   * The message shown as the reply: a partial answer, or the closing message at a limit; `null` if a stop left neither.
   */
  reply_id: string | null;
  executed: string[];
  pending: string[];
  values: Record<string, unknown> | undefined;
}

const WithMessages = z.looseObject({ messages: z.array(z.custom<BaseMessage>(isBaseMessage)) });
const WithFailure = z.looseObject({ failure: z.looseObject({ heard: StreamedAnswer.optional() }) });
const Input = z.looseObject({ messages: z.array(z.looseObject({ id: z.string() })) });

/**
 * Writes an unfinished turn into the session (law 6): the user's message, every finished message of the loop, one
 * result per call, and the streamed text of the last answer. Afterwards no step is pending. Graphs without the loop
 * keep their checkpoint as it is. Throws the store's errors.
 */
export async function keepTurn({ graph, run, services, reason, saver }: TurnToKeep): Promise<KeptTurn> {
  const unchanged: KeptTurn = { partial: null, reply_id: null, executed: [], pending: [], values: undefined };
  const loopNodes = nodesWithLoop(graph);
  if (loopNodes.size === 0) return unchanged;
  const { session_id: thread_id, run_id, graph_id } = run;
  // A former turn must not carry the next run's id: its checkpoint would count as that run's progress and its input as
  // already read.
  const isFormer = reason === "abandoned" || reason === "failed";
  const author = isFormer ? {} : { run_id };
  const lent = { [servicesKey]: services, ...(saver && { __pregel_checkpointer: saver }) };
  const config = { configurable: { thread_id, graph_id, ...author, ...lent } };
  const state = await graph.getState(config, { subgraphs: true });
  const stored = new Set(messagesOf(state.values).map(({ id }) => id));

  const unfinished = unfinishedTurn(state, loopNodes, services.progress).filter(({ id }) => !stored.has(id));
  const turn: BaseMessage[] = dropSealed(unfinished);
  const ledger = turn.length === 0 ? [] : await services.ledger.list(thread_id);
  const { messages, executed, pending } = withResults(turn, ledger, reason);
  const streamed = streamedAnswers(
    streamedAnswersIn(state, loopNodes, services.progress),
    isFormer ? "user_requested" : reason,
    stored,
  );
  const kept: KeptTurn = {
    partial: streamed.partial,
    reply_id: streamed.messages.at(-1)?.id ?? null,
    executed,
    pending: [...pending, ...streamed.calls],
    values: undefined,
  };

  const open = state.tasks.filter((task) => task.name === "__start__" || loopNodes.has(task.name));
  if (open.length < state.tasks.length) return kept;
  const input = Input.safeParse(isFormer ? undefined : run.kwargs.input).data;
  const newInput = input?.messages.filter(({ id }) => !stored.has(id)) ?? [];
  const isUnanswered = open.length > 0 && streamed.messages.length === 0;
  const request = (): string => requestOf(state.values, run.kwargs.input);
  const last = isUnanswered
    ? closingMessage({ reason, messages, expectsReply: expectsReply(run, input), request })
    : [];
  const asNode = open[0]?.name ?? "__start__";
  const added = stateParts(asNode, newInput, [...messages, ...streamed.messages, ...last]);
  if (open.length === 0 && added.length === 0) return kept;
  const values = await write(graph, config, { added, asNode, input });
  return { ...kept, reply_id: answerAt(reason, last) ?? kept.reply_id, values };
}

/**
 * The messages of each state to be added. The user's message stands in one that ends with it, also where it still waits at the
 * input: an edit of it goes on from there.
 */
function stateParts(asNode: string, input: unknown[], rest: unknown[]): unknown[][] {
  if (asNode === "__start__" && rest.length > 0) return [input, rest];
  return input.length + rest.length === 0 ? [] : [[...input, ...rest]];
}

/** After a stop by the user there is no reply; at a time limit the closing message is the reply. */
function answerAt(reason: TurnToKeep["reason"], [words]: AIMessage[]): string | undefined {
  return reason === "timeout" ? words?.id : undefined;
}

/** Whether the run's input has a message, or an answer to a question. */
function expectsReply({ kwargs }: Run, input: z.infer<typeof Input> | undefined): boolean {
  return (input !== undefined && input.messages.length > 0) || kwargs.command?.["resume"] !== undefined;
}

/** Adds messages in the name of the unfinished step, a state for each part, clears pending steps, and returns the new state. */
async function write(
  graph: ServedGraph,
  config: Parameters<ServedGraph["updateState"]>[0],
  { added, asNode, input }: { added: unknown[][]; asNode: string; input: z.infer<typeof Input> | undefined },
): Promise<Record<string, unknown>> {
  // One by one: of several steps, `bulkUpdateState` says of the first one only whose run it is, and the others would stay
  // when the run is removed.
  for (const [index, messages] of added.entries()) {
    const given = asNode === "__start__" && index === 0 ? input : undefined;
    await graph.updateState(config, { ...given, messages }, asNode);
  }
  // An update as `__end__` clears pending steps.
  await graph.updateState(config, null, "__end__");
  const now: { values: unknown } = await graph.getState(config);
  // A graph's state is an object of its channels.
  return now.values as Record<string, unknown>;
}

/** The nodes of a graph that call our loop. */
export function nodesWithLoop(graph: ServedGraph): Set<string> {
  const nodes: Record<string, { subgraphs?: unknown[] | undefined }> = graph.nodes;
  return new Set(Object.keys(nodes).filter((name) => nodes[name]?.subgraphs?.includes(loop)));
}

/** Whether a graph calls our loop, as our own workflow does. */
export function hasLoop(graph: ServedGraph): boolean {
  return nodesWithLoop(graph).size > 0;
}

/** Answers that readers have already received: the failed one, the one with a pending question, and those in memory. */
function streamedAnswersIn(
  { tasks }: StateSnapshot,
  loopNodes: Set<string>,
  progress: Progress | undefined,
): StreamedAnswer[] {
  const failed = tasks.flatMap((task) => {
    if (!loopNodes.has(task.name) || task.state === undefined || !("values" in task.state)) return [];
    return WithFailure.safeParse(task.state.values).data?.failure.heard ?? [];
  });
  return [...failed, ...(progress?.unfinished() ?? [])];
}

/** Streamed answers that never became messages: those long enough to keep, the last one, and their calls. */
function streamedAnswers(
  streamed: readonly StreamedAnswer[],
  reason: StopReason,
  stored: Set<string | undefined>,
): { messages: AIMessage[]; partial: PartialAnswer | null; calls: string[] } {
  const answers = streamed.map((answer) => toPartial(answer, reason, stored));
  return {
    messages: answers.filter(({ partial }) => partial.is_stored).map(({ message }) => message),
    partial: answers.at(-1)?.partial ?? null,
    calls: answers.flatMap(({ calls }) => calls),
  };
}

/** The user's message of this turn; the closing message is written in its language. */
function requestOf(values: unknown, input: unknown): string {
  const parsedInput = z
    .looseObject({ messages: z.array(z.looseObject({ content: z.string() })) })
    .safeParse(input).data;
  return parsedInput?.messages.at(-1)?.content ?? textOf(messagesOf(values).findLast(isHumanMessage)?.content ?? "");
}

function messagesOf(values: unknown): BaseMessage[] {
  return WithMessages.safeParse(values).data?.messages ?? [];
}

/** Messages added by unfinished loop calls: from their checkpoints, plus what only memory has. */
function unfinishedTurn(state: StateSnapshot, loopNodes: Set<string>, progress: Progress | undefined): BaseMessage[] {
  const turn: { messages: BaseMessage[] } = { messages: [] };
  const records = progress?.records ?? [];
  for (const task of state.tasks) {
    if (!loopNodes.has(task.name) || task.state === undefined || !("values" in task.state)) continue;
    const messages = messagesOf(task.state.values);
    // The checkpoint belongs to the step's first loop call. Silent calls, whose answers only the program reads, have no
    // tools.
    const first = records.find((record) => record.task === `${task.name}:${task.id}`);
    const isSilent = first?.silent ?? !messages.some((message) => isAIMessage(message) && message.tool_calls?.length);
    if (!isSilent) addMessages(turn, messages);
  }
  for (const record of records) if (!record.silent) addMessages(turn, record.messages);
  return turn.messages;
}

/** Gives each call one result: its own, the one in the ledger, or an error that says how it ended. */
function withResults(
  turn: BaseMessage[],
  ledger: ToolCallRecord[],
  reason: TurnToKeep["reason"],
): { messages: BaseMessage[]; executed: string[]; pending: string[] } {
  const rows = new Map(ledger.map((row) => [row.tool_call_id, row]));
  const executed = turn.filter(isToolMessage).map((result) => result.tool_call_id);
  const pending: string[] = [];
  const messages = repairToolPairs(turn, (call, index, message) => {
    const id = call.id ?? "";
    const row = rows.get(`${message.id}/${index}`);
    if (row?.state === "finished") {
      executed.push(id);
      // The ledger stores what `call_tool` wrote: a `ToolResult`.
      const result = row.result as ToolResult;
      return toToolMessage(
        { call: { id, name: call.name, whole: row.tool_call_id } },
        result,
        LoopLimits.parse({}).tool_result_max_length,
      );
    }
    pending.push(id);
    const place = `${message.id}/${index}/`;
    const agentCalls = ledger.filter(({ tool_call_id }) => tool_call_id.startsWith(place));
    const [code, content] =
      agentCalls.length > 0
        ? ["INTERRUPTED", agentsInterrupted(agentCalls)]
        : row === undefined
          ? ["NOT_RUN", notRun(reason)]
          : ["INTERRUPTED", interruptedResult];
    return new ToolMessage({
      id: randomUUID(),
      tool_call_id: id,
      name: call.name,
      status: "error",
      content,
      additional_kwargs: { timestamp: new Date().toISOString(), success: false, code, errorType: "cancelled" },
    });
  });
  return { messages, executed, pending };
}

/** The result of a cut-off call that ran sub-agents; the ledger lists their calls under its id. */
function agentsInterrupted(calls: ToolCallRecord[]): string {
  const shown = calls.slice(-20).map(({ tool, state }) => `${tool} (${state === "finished" ? "finished" : "unknown"})`);
  return (
    `Interrupted while agents were at work; what they did stands. Their calls: ${shown.join(", ")}. ` +
    "Look at the present state before the work is handed over again."
  );
}

function notRun(reason: TurnToKeep["reason"]): string {
  return reason === "abandoned"
    ? "Not run: the question about this call was not answered, and the conversation went on."
    : "Not run: the turn was interrupted before this call began.";
}
