import { v7 as uuid } from "@langchain/core/utils/uuid";
import type { RunnableConfig } from "@langchain/core/runnables";
import { END } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { clusterTime } from "../../concurrency/cluster-time.ts";
import { AppError } from "../../errors/errors.ts";
import { holdsMessages, isLegacyGraph, type ServedGraph, type WithChannels } from "../../graphs/served-graph.ts";
import { findAssistant, type Graphs } from "../../graphs/load.ts";
import type { CronOccurrence } from "../../storage/record-stores.ts";
import {
  type Assistant,
  JsonObject,
  type MultitaskStrategy,
  type Run,
  type RunKwargs,
  type Session,
} from "../../storage/records.ts";
import type { ApprovalAnswer, RunStore, Storage, Submission } from "../../storage/storage.ts";
import { eventTime, idBlock } from "../events/log.ts";
import { RunCommand } from "../attempt/execute.ts";
import { checkLegacyCommand } from "../attempt/legacy-graphs.ts";
import { describeIssues, RunConfig, storableConfig, wrongConfig } from "./run-config.ts";
import { withBoundAnswer } from "./bound-answer.ts";
import { interruptedRun } from "./executed-runs.ts";
import { requireCheckpoint, requireNextNodes } from "./next-nodes.ts";
import { isBaseMessage } from "../../message-kinds.ts";
import { readDecision } from "../../sessions/questions/read-decision.ts";

/** What a client asks for, parsed. `assistant` is an assistant's id or a graph's; `after_seconds` delays the start. */
export interface RunRequest extends Omit<RunKwargs, "command"> {
  assistant: string;
  command?: JsonObject | undefined;
  metadata: JsonObject;
  multitask_strategy: MultitaskStrategy;
  after_seconds?: number | undefined;
  /** The client's `Idempotency-Key` and a hash of what it sent: the same again gives the same run. */
  submission?: Submission | undefined;
  /** The question that `command.resume` answers, where it was answered by its id. */
  answer?: ApprovalAnswer | undefined;
  /** The assistant, where it was found already in the caller's scope. */
  found?: Assistant | undefined;
  /** The cron whose turn the run is. */
  cron?: CronOccurrence | undefined;
}

/** Refuses a request whose `config` or `command` has a wrong form, before anything is written. */
function checkRequest(request: RunRequest): void {
  for (const [name, schema, value] of [
    ["config", RunConfig, request.config],
    ["command", RunCommand, request.command ?? {}],
  ] as const) {
    const parsed = schema.safeParse(value);
    if (parsed.success) continue;
    throw new AppError("invalid_parameter", describeIssues(name, parsed.error), {
      suggestion: "Correct the named fields.",
    });
  }
}

/**
 * Refuses a command that names a node or a channel which the graph does not have: LangGraph passes over most of them in
 * silence, and by a name that every object has it would break the session for good.
 */
function checkNames(command: z.infer<typeof RunCommand>, { nodes, channels }: ServedGraph): void {
  const { update, goto } = command;
  const named = [goto ?? []].flat().map((target) => (typeof target === "string" ? target : target.node));
  const written = Array.isArray(update) ? update.map(([channel]) => channel) : Object.keys(update ?? {});
  const node = named.find((name) => name !== END && !Object.hasOwn(nodes, name));
  const channel = written.find((name) => !Object.hasOwn(channels, name));
  if (node === undefined && channel === undefined) return;
  const [place, what, name] = node === undefined ? ["update", "channel", channel] : ["goto", "node", node];
  throw new AppError("invalid_parameter", `command.${place}: the graph has no ${what} ${JSON.stringify(name)}.`, {
    suggestion: "GET /assistants/:id/graph lists the nodes, GET /assistants/:id/schemas what the state holds.",
  });
}

/**
 * What the run says goes before what its assistant does; of `configurable` each key by itself. Throws `invalid_parameter`
 * where what is left of the assistant's is wrong.
 */
function withConfigOf({ config, assistant_id }: Assistant, own: JsonObject): JsonObject {
  if (Object.keys(config).length === 0) return own;
  const configurable = {
    ...JsonObject.safeParse(config["configurable"]).data,
    ...JsonObject.safeParse(own["configurable"]).data,
  };
  const whole = { ...config, ...own, ...(Object.keys(configurable).length > 0 && { configurable }) };
  const { error } = RunConfig.safeParse(whole);
  if (error !== undefined) throw wrongConfig(assistant_id, error);
  return whole;
}

function withUpdateIds(command: JsonObject, graph: ServedGraph): JsonObject {
  return "update" in command ? { ...command, update: assignUpdateIds(command["update"], graph) } : command;
}

/**
 * An answer to a question goes on with what the run that asked had as context, where it has none of its own: the
 * model or the tools must not change in the middle of a turn.
 */
async function withPausedContext(session: Session, request: RunRequest, runs: RunStore): Promise<RunRequest> {
  if (Object.keys(request.context).length > 0) return request;
  const paused = await interruptedRun(runs, session.session_id);
  return paused === undefined ? request : { ...request, context: paused.kwargs.context };
}

/**
 * The row that a request is admitted with, after all checks that need no lock: with the question that its message answers,
 * and the context of the run that asked. Throws what refuses the request.
 */
export async function prepareRun(
  session: Session,
  request: RunRequest,
  { storage, graphs }: { storage: Storage; graphs: Graphs },
): Promise<Run> {
  const { found: assistant = await findAssistant(storage, graphs, request.assistant) } = request;
  if (assistant === undefined) throw assistantNotFound(request.assistant, graphs);
  const typed = session.status === "interrupted" ? withTypedAnswer(session, request) : request;
  const isAnswer = typed.command?.["resume"] !== undefined;
  const whole = isAnswer ? await withPausedContext(session, typed, storage.runs) : typed;
  const unbound = draftRun(session, whole, assistant, graphs);
  const { checkpointer } = storage;
  const origin = await requireStartCheckpoint(unbound, checkpointer);
  const draft = unbound.kwargs.command ? await withBoundAnswer(unbound, session, origin, checkpointer) : unbound;
  if ((draft.kwargs.input ?? null) === null)
    await requireNextNodes(draft, graphs.fixed(draft.graph_id), origin, checkpointer);
  return draft;
}

/** The refusal of a run while the server stops. */
export function serverStoppingError(): AppError {
  return new AppError("server", "The server is stopping and takes no new runs.", {
    suggestion: "Send the run again when the server is back.",
    message_zh: "服务器正在停止，不再接受新的运行。请在服务器恢复后重新发送。",
    recoverable: true,
  });
}

/** The refusal of a run by an assistant that does not exist, in LangGraph's words. */
export function assistantNotFound(name: string, { problems }: Pick<Graphs, "problems"> = { problems: [] }): AppError {
  const problem = problems.find(({ graph_id }) => graph_id === name);
  const advice = "Make sure the assistant ID is for a valid assistant or a valid graph ID.";
  const why = problem === undefined ? `. ${advice}` : `: its graph is not served, since ${problem.message}`;
  return new AppError("not_found", `No assistant found for "${name}"${why}`);
}

/**
 * The row a request is admitted with: where its graph is known already, its input's messages have ids; its first block of
 * event ids is reserved. Throws `not_found` for a graph that is not served and `invalid_parameter` for a wrong `config`, also of the
 * assistant, or `command`.
 */
export function draftRun(session: Session, request: RunRequest, assistant: Assistant, graphs: Graphs): Run {
  checkRequest(request);
  const { assistant: _name, metadata, multitask_strategy, after_seconds = 0, command, input, ...rest } = request;
  const { submission: _submission, answer: _answer, cron: _cron, found: _found, ...kwargs } = rest;
  const fixed = graphs.fixed(assistant.graph_id);
  if (command !== undefined && fixed !== undefined) checkNames(RunCommand.parse(command), fixed);
  if (command !== undefined && isLegacyGraph(graphs.get(assistant.graph_id))) {
    checkLegacyCommand(command, assistant.graph_id, graphs.langgraphOf(assistant.graph_id));
  }
  // Runs are begun and listed in the order in which they came, also where the machine's clock was set back between them.
  const now = new Date(eventTime("among others")).toISOString();
  return {
    run_id: uuid(),
    session_id: session.session_id,
    assistant_id: assistant.assistant_id,
    graph_id: assistant.graph_id,
    status: "pending",
    kwargs: {
      ...kwargs,
      // Without a checkpoint after each step a restart begins again and repeats effects; any graph may have tools.
      durability: kwargs.durability === "exit" ? "sync" : kwargs.durability,
      ...(input === undefined ? {} : { input: fixed === undefined ? input : assignMessageIds(input, fixed) }),
      ...(command === undefined ? {} : { command: fixed === undefined ? command : withUpdateIds(command, fixed) }),
      config: storableConfig(withConfigOf(assistant, kwargs.config)),
      context: { ...assistant.context, ...kwargs.context },
      graph_version: graphs.versions.get(assistant.graph_id),
    },
    metadata: { ...assistant.metadata, ...metadata },
    multitask_strategy,
    attempt: 0,
    crashes: 0,
    event_mark: idBlock,
    expired_events: -1,
    stop_requested: null,
    error: null,
    // A delayed run is one of the future: it cannot be claimed before.
    created_at: after_seconds > 0 ? new Date(clusterTime() + after_seconds * 1000).toISOString() : now,
    updated_at: now,
  };
}

const Origin = z.object({ checkpoint_id: z.string().nullish(), checkpoint_ns: z.string().nullish() });

/**
 * Makes sure that the checkpoint a run is to start from exists: from a missing one LangGraph would start with an empty
 * state, and the session would go on as if nothing had ever been said in it. Returns that place. Throws `not_found`, and
 * `invalid_parameter` for an id that is no text.
 */
export async function requireStartCheckpoint(
  { session_id, kwargs }: Pick<Run, "session_id" | "kwargs">,
  checkpointer: BaseCheckpointSaver,
): Promise<RunnableConfig> {
  const configurable = JsonObject.safeParse(kwargs.config["configurable"]).data ?? {};
  const origin = Origin.safeParse({ ...configurable, ...kwargs.checkpoint });
  if (!origin.success) {
    throw new AppError("invalid_parameter", "checkpoint_id and checkpoint_ns are texts; something else came.", {
      suggestion: "Send them as GET /threads/{thread_id}/history shows them.",
    });
  }
  const { checkpoint_id, checkpoint_ns } = origin.data;
  const place = { thread_id: session_id, checkpoint_ns: checkpoint_ns ?? "" };
  if (typeof checkpoint_id !== "string") return { configurable: place };
  await requireCheckpoint({ ...place, checkpoint_id }, checkpointer);
  return { configurable: { ...place, checkpoint_id } };
}

const Dictionary = z.record(z.string(), z.unknown());
const Pair = z.tuple([z.string(), z.unknown()]);
const Constructor = z.looseObject({ lc: z.number(), type: z.literal("constructor"), kwargs: Dictionary });

/** One message in any form LangChain reads, with an id. What is no message is left for the graph to refuse. */
function withId(message: unknown): unknown {
  if (typeof message === "string") return { type: "human", content: message, id: uuid() };
  if (isBaseMessage(message)) return withId({ ...message.toDict().data, type: message.type });
  const pair = Pair.safeParse(message);
  if (pair.success) return { role: pair.data[0], content: pair.data[1], id: uuid() };
  const constructed = Constructor.safeParse(message);
  if (constructed.success) {
    const { kwargs } = constructed.data;
    return { ...constructed.data, kwargs: { ...kwargs, id: kwargs["id"] ?? uuid() } };
  }
  const dictionary = Dictionary.safeParse(message);
  if (!dictionary.success || !("role" in dictionary.data || "type" in dictionary.data)) return message;
  return { ...dictionary.data, id: dictionary.data["id"] ?? uuid() };
}

/**
 * The input of a run with an id on every message, given before the input is stored: a step that is repeated after a crash
 * then replaces its message and does not double it. What goes into a channel that is not one of messages stays as it came.
 */
export function assignMessageIds(input: unknown, graph: WithChannels): unknown {
  const parsed = Dictionary.safeParse(input);
  if (!parsed.success) return input;
  const names = Object.keys(parsed.data).filter((name) => holdsMessages(graph, name));
  if (names.length === 0) return input;
  return { ...parsed.data, ...Object.fromEntries(names.map((name) => [name, withIds(parsed.data[name])])) };
}

function withIds(messages: unknown): unknown {
  if (messages === undefined || messages === null) return messages;
  return Array.isArray(messages) ? messages.map(withId) : withId(messages);
}

/** The `update` of a command, which is an object or a list of channel and value, with an id on every message. */
export function assignUpdateIds(update: unknown, graph: WithChannels): unknown {
  const pairs = z.array(Pair).safeParse(update);
  if (!pairs.success) return assignMessageIds(update, graph);
  return pairs.data.map(([channel, value]) => [channel, holdsMessages(graph, channel) ? withIds(value) : value]);
}

/** A question that a word answers. */
const AnsweredByWord = z.looseObject({
  kind: z.enum(["confirmation", "chain_confirm"]),
  keywords: z.array(z.string()),
});
const OneMessage = z.union([z.looseObject({ content: z.string() }), z.string().transform((content) => ({ content }))]);
const TypedInput = z.strictObject({ messages: z.union([z.tuple([OneMessage]), OneMessage.transform((one) => [one])]) });

/**
 * A next message that is nothing but a yes or a no answers the one confirmation that the session waits for: people type
 * "confirm" where clients have no button. Any other message goes on without it.
 */
function withTypedAnswer(session: Session, request: RunRequest): RunRequest {
  if (request.command !== undefined) return request;
  const [question, ...others] = Object.values(session.interrupts).flat();
  if (others.length > 0 || !AnsweredByWord.safeParse(question?.value).success) return request;
  const word = TypedInput.safeParse(request.input).data?.messages[0]?.content;
  if (word === undefined || readDecision(word).kind === "unclear") return request;
  const { input: _said, ...rest } = request;
  return { ...rest, command: { resume: word } };
}
