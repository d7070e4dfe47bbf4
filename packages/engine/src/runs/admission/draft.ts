import { v7 as uuid } from "@langchain/core/utils/uuid";
import { END } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import { isFormerGraph, type ServedGraph } from "../../graphs/served-graph.ts";
import type { Graphs } from "../../graphs/load.ts";
import type { CronTurn } from "../../storage/crons.ts";
import {
  JsonObject,
  type Assistant,
  type MultitaskStrategy,
  type Run,
  type RunKwargs,
  type Session,
} from "../../storage/records.ts";
import type { ApprovalAnswer, RunStore } from "../../storage/storage.ts";
import { addressed } from "../attempt/answers-left.ts";
import { askingRun } from "./asking-run.ts";
import { eventTime } from "../events/event-clock.ts";
import { RunCommand, RunConfig } from "../attempt/execute.ts";
import { checkFormerCommand } from "../attempt/former-command.ts";
import { idBlock } from "../events/log.ts";
import { giveMessageIds, giveUpdateIds } from "./message-ids.ts";
import { lastingConfig } from "./user-of-run.ts";

/** What a client asks for, parsed. `assistant` is an assistant's id or a graph's; `after_seconds` delays the start. */
export interface RunRequest extends Omit<RunKwargs, "command"> {
  assistant: string;
  command?: JsonObject | undefined;
  metadata: JsonObject;
  multitask_strategy: MultitaskStrategy;
  after_seconds?: number | undefined;
  /** The client's `Idempotency-Key` and a hash of what it sent: the same again gives the same run. */
  submission?: { key: string; hash: string } | undefined;
  /** The question that `command.resume` answers, where it was answered by its id. */
  answer?: ApprovalAnswer | undefined;
  /** The assistant, where it was found already in the scope of who asks. */
  found?: Assistant | undefined;
  /** The cron whose turn the run is. */
  cron?: CronTurn | undefined;
}

/** Refuses a request whose `config` or `command` has a wrong form, before anything is written. */
function checkRequest(request: RunRequest): void {
  for (const [name, schema, value] of [
    ["config", RunConfig, request.config],
    ["command", RunCommand, request.command ?? {}],
  ] as const) {
    const parsed = schema.safeParse(value);
    if (parsed.success) continue;
    const problems = parsed.error.issues.map((issue) => `${[name, ...issue.path].join(".")}: ${issue.message}`);
    throw new AppError("invalid_parameter", problems.join("; "), { suggestion: "Correct the named fields." });
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

/** What the run says goes before what its assistant does; of `configurable` each key by itself. */
function withConfigOf({ config }: Assistant, own: JsonObject): JsonObject {
  const configurable = {
    ...JsonObject.safeParse(config["configurable"]).data,
    ...JsonObject.safeParse(own["configurable"]).data,
  };
  return { ...config, ...own, ...(Object.keys(configurable).length > 0 && { configurable }) };
}

function withUpdateIds(command: JsonObject, graph: ServedGraph): JsonObject {
  return "update" in command ? { ...command, update: giveUpdateIds(command["update"], graph) } : command;
}

/**
 * An answer to a question goes on with what the run that asked was told, where it says nothing of its own: another
 * model or other tools in the middle of a turn would surprise everybody.
 */
export async function withPausedContext(session: Session, request: RunRequest, runs: RunStore): Promise<RunRequest> {
  const resumes = request.command?.["resume"] !== undefined && Object.keys(request.context).length === 0;
  if (!resumes) return request;
  const paused = await askingRun(runs, session.session_id);
  return paused === undefined ? request : { ...request, context: paused.kwargs.context };
}

/** The refusal of a run by an assistant that does not exist, in LangGraph's words. */
export function noAssistant(name: string): AppError {
  return new AppError(
    "not_found",
    `No assistant found for "${name}". Make sure the assistant ID is for a valid assistant or a valid graph ID.`,
  );
}

/**
 * The row a request is admitted with: where its graph is known already, its input's messages have ids; its first block of
 * event ids is reserved. Throws `not_found` for a graph that is not served and `invalid_parameter` for a wrong `config` or `command`.
 */
export function draftRun(session: Session, request: RunRequest, assistant: Assistant, graphs: Graphs): Run {
  checkRequest(request);
  const { assistant: _name, metadata, multitask_strategy, after_seconds = 0, command, input, ...rest } = request;
  const { submission: _submission, answer: _answer, cron: _cron, found: _found, ...kwargs } = rest;
  const fixed = graphs.fixed(assistant.graph_id);
  if (command !== undefined && fixed !== undefined) checkNames(RunCommand.parse(command), fixed);
  if (command !== undefined && isFormerGraph(graphs.get(assistant.graph_id))) {
    checkFormerCommand(command, assistant.graph_id, graphs.langgraphOf(assistant.graph_id));
  }
  // Runs are begun and listed in the order in which they came, also where the machine's clock was set back between them.
  const now = new Date(eventTime()).toISOString();
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
      ...(input === undefined ? {} : { input: fixed === undefined ? input : giveMessageIds(input, fixed) }),
      ...(command === undefined
        ? {}
        : { command: addressed(fixed === undefined ? command : withUpdateIds(command, fixed), session) }),
      config: lastingConfig(withConfigOf(assistant, kwargs.config)),
      context: { ...assistant.context, ...kwargs.context },
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
    created_at: after_seconds > 0 ? new Date(Date.now() + after_seconds * 1000).toISOString() : now,
    updated_at: now,
  };
}

const Origin = z.object({ checkpoint_id: z.string().nullish(), checkpoint_ns: z.string().nullish() });

/**
 * Makes sure that the checkpoint a run is to start from exists: from a missing one LangGraph would start with an empty
 * state, and the session would go on as if nothing had ever been said in it. Throws `not_found`, and
 * `invalid_parameter` for an id that is no text.
 */
export async function requireOrigin(
  { session_id, kwargs }: Pick<Run, "session_id" | "kwargs">,
  checkpointer: BaseCheckpointSaver,
): Promise<void> {
  const configurable = JsonObject.safeParse(kwargs.config["configurable"]).data ?? {};
  const origin = Origin.safeParse({ ...configurable, ...kwargs.checkpoint });
  if (!origin.success) {
    throw new AppError("invalid_parameter", "checkpoint_id and checkpoint_ns are texts; something else came.", {
      suggestion: "Send them as GET /threads/{thread_id}/history shows them.",
    });
  }
  const { checkpoint_id, checkpoint_ns } = origin.data;
  if (typeof checkpoint_id !== "string") return;
  await requireCheckpoint({ thread_id: session_id, checkpoint_ns: checkpoint_ns ?? "", checkpoint_id }, checkpointer);
}

/** Throws `not_found` where there is no such checkpoint. */
export async function requireCheckpoint(
  place: { thread_id: string; checkpoint_ns: string; checkpoint_id: string },
  checkpointer: BaseCheckpointSaver,
): Promise<void> {
  const { checkpoint_id } = place;
  if ((await checkpointer.getTuple({ configurable: place })) !== undefined) return;
  throw new AppError("not_found", `Checkpoint ${checkpoint_id} not found`, {
    suggestion: "GET /threads/{thread_id}/history lists the checkpoints of the thread.",
  });
}
