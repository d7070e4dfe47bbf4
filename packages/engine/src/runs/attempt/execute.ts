import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph-checkpoint";
import { Command, Send, isGraphDrained, isInterrupted, type Interrupt, type RunControl } from "@langchain/langgraph";
import { z } from "zod";
import { isAppError } from "../../errors/errors.ts";
import { streamModes, type StreamMode } from "../../run-events.ts";
import { checkpointerFor, isFormerGraph, type ServedGraph } from "../../graphs/served-graph.ts";
import { JsonObject, type Run } from "../../storage/records.ts";
import type { Logger } from "../../logger.ts";
import { answersLeft, type Ending, readPause, toRunError } from "../status.ts";
import type { ReplaceChunk } from "../companion.ts";
import { createLifecycle, type LifecycleTeller } from "../events/lifecycle-events.ts";
import type { EventBody } from "../events/log.ts";
import { answeredByTask, formerModes, readFormerStream } from "./former-graphs.ts";
import {
  createTranslator,
  type GraphChunk,
  noProjections,
  planStream,
  type Project,
  type Projections,
  type StreamPlan,
  type ToldMessages,
} from "../events/to-events.ts";

/** What a run may say in `config`; other keys are ignored. */
export const RunConfig = z.object({
  tags: z.array(z.string()).max(100).optional(),
  recursion_limit: z.number().int().positive().optional(),
  max_concurrency: z.number().int().positive().optional(),
  /** Milliseconds; more than a timer can count (25 days) is no limit that anybody means. */
  timeout: z.number().positive().max(0x7fff_ffff).optional(),
  configurable: JsonObject.optional(),
  metadata: JsonObject.optional(),
});

const Target = z.union([z.string(), z.object({ node: z.string(), input: z.unknown() })]);

/** What a run may say in `command`. */
export const RunCommand = z.object({
  resume: z.unknown().optional(),
  update: z.union([JsonObject, z.array(z.tuple([z.string(), z.unknown()])).max(1_000)]).nullish(),
  goto: z.union([Target, z.array(Target).max(1_000)]).nullish(),
});

/** Everything one walk needs. `tell` gets its events in order; `room` is awaited before each chunk when it answers. */
export interface GraphStream {
  run: Run;
  graph: ServedGraph;
  /** It calls the agent's loop, whose words are the conversation's. */
  hasLoop: boolean;
  /** Supersteps of such a graph, where neither the run nor the graph says how many. */
  recursionLimit: number | undefined;
  /** What an agent lends the graph in `configurable`; absent where nobody does. */
  lend: ((signal: AbortSignal) => Promise<JsonObject>) | undefined;
  /** What replaces chunks of its stream; absent where none is replaced. */
  replace: ReplaceChunk | undefined;
  logger: Pick<Logger, "warn">;
  /** Go on from the run's checkpoint instead of beginning with its input. */
  resume: boolean;
  signal: AbortSignal;
  /** What the graph writes its checkpoints to. */
  saver: BaseCheckpointSaver;
  /** By which a drain parks the walk before its next step. */
  control: RunControl;
  /** What graphs keep beside conversations. */
  store: BaseStore;
  /** Receives the run's spans, where the server is traced. */
  tracer: BaseCallbackHandler | undefined;
  /** What former attempts have told of messages; absent in a first one. */
  toldMessages?: ToldMessages | undefined;
  tell: (event: EventBody) => void;
  /** Runs the graph's stream transformers, for a run of the event protocol. */
  project?: Project | undefined;
  /** After the events of a chunk were told. */
  told?: (mode: string, payload: unknown) => void;
  room: () => Promise<void> | undefined;
}

/** How a walk ended: `paused` when it told of an interrupt; `values` are the root's last ones, where they were streamed. */
export interface StreamResult {
  ending: Ending;
  paused: boolean;
  values: Record<string, unknown> | undefined;
}

/** A command of the wire as LangGraph takes it. Throws for one of a wrong form. */
export function toCommand(command: unknown): Command {
  const { resume, update, goto } = RunCommand.parse(command);
  const targets = (Array.isArray(goto) ? goto : [goto ?? []].flat()).map((target) =>
    typeof target === "string" ? target : new Send(target.node, target.input),
  );
  return new Command({
    ...(resume === undefined ? {} : { resume }),
    ...(update === undefined || update === null ? {} : { update }),
    ...(targets.length === 0 ? {} : { goto: targets }),
  });
}

async function inputOf({ run, graph, resume }: GraphStream, lent: JsonObject): Promise<unknown> {
  const { command, input } = run.kwargs;
  if (!resume) return command === undefined ? (input ?? null) : toCommand(await answeredByTask(graph, run, command));
  if (command?.["resume"] === undefined) return null;
  const configurable = { thread_id: run.session_id, graph_id: run.graph_id, ...lent };
  const left = answersLeft(command["resume"], await graph.getState({ configurable }, { subgraphs: true }));
  return left === null ? null : new Command({ resume: left });
}

/** A client's own keys, without those by which LangGraph and this server talk to themselves. */
function clientKeys(configurable: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(configurable).filter(([key]) => !key.startsWith("__")));
}

function configurableOf(
  { run, graph, resume, saver }: GraphStream,
  configurable: JsonObject,
  lent: JsonObject,
): JsonObject {
  const keys = clientKeys({ ...configurable, ...run.kwargs.checkpoint });
  // A resumed run goes on from its own newest checkpoint; the point it was forked at lies behind that.
  if (resume) for (const key of ["checkpoint_id", "checkpoint_ns", "checkpoint_map"]) delete keys[key];
  return {
    ...keys,
    thread_id: run.session_id,
    run_id: run.run_id,
    assistant_id: run.assistant_id,
    graph_id: run.graph_id,
    ...lent,
    // The key by which LangGraph lends a graph another checkpointer than its own.
    __pregel_checkpointer: checkpointerFor(graph, saver),
  };
}

function optionsOf(walk: GraphStream, plan: StreamPlan, lent: JsonObject) {
  const { run, graph, signal } = walk;
  const { kwargs } = run;
  const config = RunConfig.parse(kwargs.config);
  const ownLimit = walk.hasLoop ? walk.recursionLimit : undefined;
  // Where nothing is said, the graph's own LangGraph knows its limit.
  const recursionLimit = config.recursion_limit ?? graph.config?.recursionLimit ?? ownLimit;
  return {
    streamMode: isFormerGraph(graph) ? formerModes(plan.modes) : plan.modes,
    subgraphs: plan.subgraphs,
    // By this alone LangGraph gives the checkpoint before each state; of a stream that is not `streamEvents` it reads no more.
    ...(kwargs.protocol === undefined ? {} : { version: "v2" }),
    signal,
    control: walk.control,
    store: walk.store,
    runId: run.run_id,
    configurable: configurableOf(walk, config.configurable ?? {}, lent),
    context: kwargs.context,
    metadata: { ...config.metadata, ...run.metadata, run_attempt: run.attempt },
    ...(recursionLimit === undefined ? {} : { recursionLimit }),
    durability: kwargs.durability,
    ...(walk.tracer === undefined ? {} : { callbacks: [walk.tracer] }),
    ...(config.tags === undefined ? {} : { tags: config.tags }),
    ...(config.max_concurrency === undefined ? {} : { maxConcurrency: config.max_concurrency }),
    ...(kwargs.interrupt_before === undefined ? {} : { interruptBefore: kwargs.interrupt_before }),
    ...(kwargs.interrupt_after === undefined ? {} : { interruptAfter: kwargs.interrupt_after }),
  };
}

function isStreamMode(mode: string): mode is StreamMode {
  return streamModes.some((known) => known === mode);
}

/**
 * The chunks of a graph for a run that asks for the mode `events`; what LangChain tells of every runnable is told in
 * between. It costs half as much again, so no other run goes this way.
 */
async function* chunksBetweenEvents(
  { graph, run, tell, room }: GraphStream,
  input: unknown,
  options: ReturnType<typeof optionsOf>,
): AsyncGenerator<unknown> {
  for await (const event of graph.streamEvents(input, { ...options, version: "v2" })) {
    if (event.event === "on_chain_stream" && event.run_id === run.run_id) {
      yield event.data.chunk;
      continue;
    }
    if (event.tags?.includes("langsmith:hidden") === true) continue;
    const pending = room();
    if (pending !== undefined) await pending;
    tell({ event: "events", namespace: [], data: event });
  }
}

/** What a graph streams, of whichever version of LangGraph it is; `onPause` hears of a pause that is not in the stream. */
async function streamOf(
  walk: GraphStream,
  plan: StreamPlan,
  options: ReturnType<typeof optionsOf>,
  lent: JsonObject,
  onPause: () => void,
): Promise<AsyncIterable<unknown>> {
  const { graph, run } = walk;
  const input = await inputOf(walk, lent);
  const withEvents = run.kwargs.stream_mode.includes("events");
  const stream = withEvents ? chunksBetweenEvents(walk, input, options) : await graph.stream(input, options);
  if (!isFormerGraph(graph)) return stream;
  return readFormerStream(stream, plan, async () => {
    const pause = await readPause(graph, run.session_id);
    if (pause.waiting) onPause();
    return pause;
  });
}

/** What a walk tells: the events of its chunks, and those that are left when it is over. */
function eventsOf({ run, toldMessages }: GraphStream, modes: StreamMode[]) {
  const { stream_subgraphs, protocol } = run.kwargs;
  const translate = createTranslator(modes, stream_subgraphs, toldMessages, protocol !== undefined);
  const lifecycle = modes.includes("lifecycle") ? createLifecycle() : undefined;
  return {
    ofChunk: (chunk: GraphChunk) =>
      lifecycle === undefined ? translate(chunk) : [...lifecycle.heard(chunk), ...translate(chunk)],
    atEnd: (end: Parameters<LifecycleTeller["over"]>[0]) => lifecycle?.over(end) ?? [],
  };
}

/** Walks the graph for one attempt of a run and tells what happens. Never throws: a failure is an ending. */
export async function streamGraph(walk: GraphStream): Promise<StreamResult> {
  const { run, signal, tell, room } = walk;
  const modes = run.kwargs.stream_mode.filter(isStreamMode);
  const events = eventsOf(walk, modes);
  const projections = projectionsOf(walk);
  let values: Record<string, unknown> | undefined;
  let interrupts: Interrupt[] | undefined;
  const result = (ending: Ending): StreamResult => {
    const paused = interrupts !== undefined;
    const error = ending.kind === "failed" ? ending.error : undefined;
    for (const event of events.atEnd({ error, paused: paused || ending.kind === "stopped" })) tell(event);
    return { ending, paused, values: paused ? { ...values, __interrupt__: interrupts } : values };
  };
  try {
    const lent = (await walk.lend?.(signal)) ?? {};
    const plan = planStream(modes, run.kwargs.stream_subgraphs, walk.hasLoop);
    const options = optionsOf(walk, plan, lent);
    const stream = await streamOf(walk, plan, options, lent, () => (interrupts ??= []));
    for await (const item of stream) {
      // With a list of modes LangGraph gives pairs, and triples with `subgraphs`.
      const given = (options.subgraphs ? item : [[], ...(item as [string, unknown])]) as GraphChunk;
      const replaced = walk.replace?.(given, values);
      for (const chunk of replaced === undefined ? [given] : await replaced) {
        const [path, mode, payload] = chunk;
        const isState = mode === "values" || mode === "updates";
        if (isState && isInterrupted(payload)) interrupts = withAsked(interrupts, payload.__interrupt__);
        // The state of a graph is an object of its channels.
        else if (mode === "values" && path.length === 0) values = payload as Record<string, unknown>;
        const pending = room();
        if (pending !== undefined) await pending;
        for (const event of events.ofChunk(chunk)) tell(event);
        projections.heard(chunk);
        walk.told?.(mode, payload);
      }
    }
    await projections.ended();
    return result({ kind: "done" });
  } catch (error) {
    projections.brokeOff(error);
    if (signal.aborted || isGraphDrained(error)) return result({ kind: "stopped" });
    // Readers are told what they can do; what exactly happened stands here. Of an expected failure not its cause: a
    // provider may have repeated a key in it.
    const about = isAppError(error) ? toRunError(error) : { err: error };
    walk.logger.warn({ ...about, run_id: run.run_id, session_id: run.session_id }, "run_failed");
    return result({ kind: "failed", error: toRunError(error) });
  }
}

/** The stream transformers of the graph at work; only the event protocol has channels for what they make. */
function projectionsOf({ run, graph, signal, logger, tell, project }: GraphStream): Projections {
  if (run.kwargs.protocol === undefined || project === undefined) return noProjections;
  const { run_id, session_id } = run;
  const failed = (err: unknown): void => logger.warn({ err, run_id, session_id }, "stream_transformer_failed");
  return project({ graph, signal, tell, failed }) ?? noProjections;
}

/** What a walk waits for: each task tells what it asks itself, and the graphs around tell it again. */
function withAsked(known: readonly Interrupt[] = [], told: readonly Interrupt[]): Interrupt[] {
  return [...known, ...told.filter(({ id }) => id === undefined || known.every((one) => one.id !== id))];
}
