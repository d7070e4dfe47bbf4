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
import { addMessages, HeardAnswer, type Progress } from "../loop/progress.ts";
import { servicesKey, type RunServices } from "../loop/services.ts";
import { LoopLimits } from "../state.ts";
import type { Run, ToolCallRecord } from "@millrace/engine/storage/records";
import { lastWords } from "./last-words.ts";
import type { ToolResult } from "../tools/runtime/result.ts";

/**
 * What of a turn is kept, and why it ended. The session goes on after a former turn that left a question open
 * (`abandoned`) or broke off (`failed`); else it is the turn of `run`.
 */
export interface TurnToKeep {
  graph: ServedGraph;
  run: Run;
  services: RunServices;
  reason: StopReason | "abandoned" | "failed";
  /** What it is written to, where that is not simply the graph's own. */
  saver?: BaseCheckpointSaver;
}

/** What became of a turn that did not end by itself; `values` is the session's state where it was changed. */
export interface KeptTurn {
  partial: PartialAnswer | null;
  /** The message that answers: a partial answer, or the words at a limit; `null` where a stop has left no answer. */
  reply_id: string | null;
  executed: string[];
  pending: string[];
  values: Record<string, unknown> | undefined;
}

const WithMessages = z.looseObject({ messages: z.array(z.custom<BaseMessage>(isBaseMessage)) });
const WithFailure = z.looseObject({ failure: z.looseObject({ heard: HeardAnswer.optional() }) });
const Input = z.looseObject({ messages: z.array(z.looseObject({ id: z.string() })) });

/**
 * Writes what a stopped turn has done into the session (law 6): the user's message, every finished message of the loop,
 * one result for each call, and the text that readers saw of the last answer. Afterwards nothing of the turn is left to
 * be done. Only for graphs that call the loop; others keep their checkpoint as it is. Throws what the store throws.
 */
export async function keepTurn({ graph, run, services, reason, saver }: TurnToKeep): Promise<KeptTurn> {
  const nothing: KeptTurn = { partial: null, reply_id: null, executed: [], pending: [], values: undefined };
  const loopNodes = nodesWithLoop(graph);
  if (loopNodes.size === 0) return nothing;
  const { session_id: thread_id, run_id, graph_id } = run;
  // A former turn is not that of the run that comes: a checkpoint with its id would be taken for its own progress, and
  // its input for one that has been read already.
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
  const told = toldAnswers(heardIn(state, loopNodes, services.progress), isFormer ? "user_requested" : reason, stored);
  const kept: KeptTurn = {
    partial: told.partial,
    reply_id: told.messages.at(-1)?.id ?? null,
    executed,
    pending: [...pending, ...told.calls],
    values: undefined,
  };

  const open = state.tasks.filter((task) => task.name === "__start__" || loopNodes.has(task.name));
  if (open.length < state.tasks.length) return kept;
  const input = Input.safeParse(isFormer ? undefined : run.kwargs.input).data;
  const unsaid = input?.messages.filter(({ id }) => !stored.has(id)) ?? [];
  const isMute = open.length > 0 && told.messages.length === 0;
  const request = (): string => requestOf(state.values, run.kwargs.input);
  const last = isMute ? lastWords({ reason, messages, isAsked: isAsked(run, input), request }) : [];
  const added = [...unsaid, ...messages, ...told.messages, ...last];
  if (open.length === 0 && added.length === 0) return kept;
  const values = await write(graph, config, { added, asNode: open[0]?.name ?? "__start__", input });
  return { ...kept, reply_id: answerAt(reason, last) ?? kept.reply_id, values };
}

/** A person who stops a turn that has no reply finds the conversation at rest; a limit has answered. */
function answerAt(reason: TurnToKeep["reason"], [words]: AIMessage[]): string | undefined {
  return reason === "timeout" ? words?.id : undefined;
}

/** Whether a run has brought a message of the user's, or their answer to a question. */
function isAsked({ kwargs }: Run, input: z.infer<typeof Input> | undefined): boolean {
  return (input !== undefined && input.messages.length > 0) || kwargs.command?.["resume"] !== undefined;
}

/** Adds messages as a step did that has not ended, and notes that nothing is left to be done; answers with the state then. */
async function write(
  graph: ServedGraph,
  config: Parameters<ServedGraph["bulkUpdateState"]>[0],
  { added, asNode, input }: { added: unknown[]; asNode: string; input: z.infer<typeof Input> | undefined },
): Promise<Record<string, unknown>> {
  const values = { ...(asNode === "__start__" ? input : undefined), messages: added };
  await graph.bulkUpdateState(config, [
    ...(added.length === 0 ? [] : [{ updates: [{ values, asNode }] }]),
    // An update as the end clears what is left to be done.
    { updates: [{ values: null, asNode: "__end__" }] },
  ]);
  const now: { values: unknown } = await graph.getState(config);
  // The state of a graph is an object of its channels.
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

/** What readers have already received: the answer that broke off, the one with a pending question, and those in memory. */
function heardIn({ tasks }: StateSnapshot, loopNodes: Set<string>, progress: Progress | undefined): HeardAnswer[] {
  const asked = tasks.flatMap((task) => {
    if (!loopNodes.has(task.name) || task.state === undefined || !("values" in task.state)) return [];
    return WithFailure.safeParse(task.state.values).data?.failure.heard ?? [];
  });
  return [...asked, ...(progress?.unfinished() ?? [])];
}

/** Streamed answers that never became messages: those long enough to keep, the last one, and their calls. */
function toldAnswers(
  heard: readonly HeardAnswer[],
  reason: StopReason,
  stored: Set<string | undefined>,
): { messages: AIMessage[]; partial: PartialAnswer | null; calls: string[] } {
  const answers = heard.map((answer) => toPartial(answer, reason, stored));
  return {
    messages: answers.filter(({ partial }) => partial.is_stored).map(({ message }) => message),
    partial: answers.at(-1)?.partial ?? null,
    calls: answers.flatMap(({ calls }) => calls),
  };
}

/** The user's words of this turn, which say in what language they are answered. */
function requestOf(values: unknown, input: unknown): string {
  const said = z.looseObject({ messages: z.array(z.looseObject({ content: z.string() })) }).safeParse(input).data;
  return said?.messages.at(-1)?.content ?? textOf(messagesOf(values).findLast(isHumanMessage)?.content ?? "");
}

function messagesOf(values: unknown): BaseMessage[] {
  return WithMessages.safeParse(values).data?.messages ?? [];
}

/** What the loop calls of the unfinished steps have added: from their checkpoints, and what memory knows beyond them. */
function unfinishedTurn(state: StateSnapshot, loopNodes: Set<string>, progress: Progress | undefined): BaseMessage[] {
  const turn: { messages: BaseMessage[] } = { messages: [] };
  const records = progress?.records ?? [];
  for (const task of state.tasks) {
    if (!loopNodes.has(task.name) || task.state === undefined || !("values" in task.state)) continue;
    const messages = messagesOf(task.state.values);
    // The checkpoint is that of the step's first loop call. What only the program reads never calls tools.
    const first = records.find((record) => record.task === `${task.name}:${task.id}`);
    const isSilent = first?.silent ?? !messages.some((message) => isAIMessage(message) && message.tool_calls?.length);
    if (!isSilent) addMessages(turn, messages);
  }
  for (const record of records) if (!record.silent) addMessages(turn, record.messages);
  return turn.messages;
}

/** The messages with one result per call: its own, the one in the ledger, or what is known about its end. */
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
      // The ledger stores what call_tool wrote: a ToolResult.
      const result = row.result as ToolResult;
      return toToolMessage(
        { call: { id, name: call.name, whole: row.tool_call_id } },
        result,
        LoopLimits.parse({}).tool_result_max_length,
      );
    }
    pending.push(id);
    const place = `${message.id}/${index}/`;
    const ofAgents = ledger.filter(({ tool_call_id }) => tool_call_id.startsWith(place));
    const [code, content] =
      ofAgents.length > 0
        ? ["INTERRUPTED", agentsInterrupted(ofAgents)]
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

/** What agents had done when their call was cut off: their calls stand in the ledger below its name. */
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
