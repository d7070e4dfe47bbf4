import { z } from "zod";
import type { Language } from "../../../language.ts";
import type { StreamMode } from "../../../run-events.ts";
import type { RunRequest } from "../../../runs/admission/draft.ts";
import { interruptedRun } from "../../../runs/admission/executed-runs.ts";
import { RunCommand } from "../../../runs/attempt/execute.ts";
import { RunConfig } from "../../../runs/admission/run-config.ts";
import { inSession } from "../../../sessions/sessions.ts";
import { readState } from "../../../sessions/state/state.ts";
import {
  JsonObject,
  MultitaskStrategy,
  type PendingInterrupt,
  type Run,
  type Session,
} from "../../../storage/records.ts";
import type { HttpServices } from "../../environment.ts";
import { maxIssues } from "../../errors.ts";
import type { RunBody } from "../../requests/run-request.ts";
import { repeatedRun } from "../../requests/repeated.ts";
import { admitRun } from "../../requests/runs.ts";
import {
  type CommandOutcome,
  metaOf,
  type ProtocolAnswer,
  readTree,
  type Refusal,
  toRefusal,
} from "./thread-record.ts";

/** A command of the protocol, over HTTP or a WebSocket. */
export const ProtocolCommand = z
  .object({
    id: z.int().nonnegative(),
    method: z.string().min(1),
    params: JsonObject.nullish(),
  })
  .meta({ ref: "ProtocolCommand" });
export type ProtocolCommand = z.infer<typeof ProtocolCommand>;

/**
 * The origin of commands to a thread: the request's headers, which become configuration, its id and its idempotency
 * key.
 */
export interface CommandSource {
  threadId: string;
  headers: Record<string, string>;
  requestId?: string;
  submission?: RunRequest["submission"];
  /** What `Accept-Language` asks for. */
  language?: Language | undefined;
}

/** The modes every run of the protocol streams, so that each channel has its events. */
const runModes: StreamMode[] = ["values", "updates", "messages-tuple", "tools", "custom", "tasks"];

const RunOptions = z.looseObject({
  config: RunConfig.nullish(),
  metadata: JsonObject.nullish(),
  context: JsonObject.nullish(),
});
const RunStart = RunOptions.extend({
  assistant_id: z.string().min(1),
  input: z.unknown().optional(),
  // Servers before protocol 0.0.21 read only the first spelling; the SDK sends both.
  multitaskStrategy: MultitaskStrategy.nullish(),
  multitask_strategy: MultitaskStrategy.nullish(),
});
const Response = z.looseObject({
  interrupt_id: z.string(),
  response: z.unknown().optional(),
  namespace: z.array(z.string()).max(100).optional(),
});
const InputRespond = RunOptions.extend({
  responses: z.array(Response).min(1).max(1_000).optional(),
  ...Response.partial().shape,
  ...RunCommand.pick({ update: true, goto: true }).shape,
});
const StateGet = z.looseObject({
  namespace: z.array(z.string()).max(100).nullish(),
  keys: z.array(z.string()).max(1_000).nullish(),
});

/** Executes a command; failures become answers, too. */
export async function handleCommand(
  services: HttpServices,
  source: CommandSource,
  command: ProtocolCommand,
): Promise<ProtocolAnswer> {
  // Read before anything starts: the command's events get later sequence numbers.
  const meta = metaOf(source.threadId);
  const { id } = command;
  const outcome = await outcomeOf(services, source, command).catch((error: unknown) =>
    toRefusal(error, services.logger, source.language),
  );
  return "result" in outcome
    ? { type: "success", id, result: outcome.result, meta }
    : { type: "error", id, ...outcome, meta };
}

async function outcomeOf(
  services: HttpServices,
  source: CommandSource,
  command: ProtocolCommand,
): Promise<CommandOutcome> {
  switch (command.method) {
    case "run.start":
      return withParams(command, RunStart, (params) => startRun(services, source, params));
    case "input.respond":
      return withParams(command, InputRespond, (params) => respond(services, source, params));
    case "state.get":
      return withParams(command, StateGet, (params) => getState(services, source, params));
    case "agent.getTree":
      return getTree(services, source);
    case "subscription.subscribe":
    case "subscription.unsubscribe":
      return {
        error: "not_supported",
        message: `${command.method} is a command of the WebSocket; over HTTP open POST /threads/:thread_id/stream/events.`,
      };
    case "subscription.reconnect":
      return { error: "not_supported", message: "Subscribe again: what was told meanwhile is told again." };
    default:
      return { error: "unknown_command", message: `Unknown protocol command: ${command.method}` };
  }
}

/** Runs `work` with valid parameters; otherwise `invalid_argument` lists what is wrong. */
export async function withParams<Schema extends z.ZodType, Outcome>(
  { method, params }: ProtocolCommand,
  schema: Schema,
  work: (params: z.output<Schema>) => Outcome | Promise<Outcome>,
): Promise<Outcome | Refusal> {
  const parsed = schema.safeParse(params ?? {});
  if (parsed.success) return work(parsed.data);
  const reported = parsed.error.issues.slice(0, maxIssues);
  const problems = reported.map(({ path, message }) => `${path.join(".") || "params"}: ${message}`);
  return { error: "invalid_argument", message: `${method}: ${problems.join("; ")}` };
}

/**
 * Starts a run on the thread, which is created if missing. While the thread waits for an answer, the input is that
 * answer.
 */
async function startRun(
  services: HttpServices,
  source: CommandSource,
  { assistant_id, input, multitaskStrategy, multitask_strategy, ...options }: z.output<typeof RunStart>,
): Promise<CommandOutcome> {
  const run = await inSession(services, { session_id: source.threadId }, (session) => {
    const isAsking = session.status === "interrupted" && openQuestions(session).length > 0;
    const isAnswer = input !== undefined && input !== null && isAsking;
    return admit(services, source, session, {
      ...bodyOf(assistant_id, options),
      ...(isAnswer ? { command: { resume: input } } : { input }),
      multitask_strategy: multitask_strategy ?? multitaskStrategy ?? "enqueue",
    });
  });
  return { result: { run_id: run.run_id } };
}

/** Answers questions by their ids, all in one run. The same answer under the same key returns the run of the first one. */
async function respond(
  services: HttpServices,
  source: CommandSource,
  params: z.output<typeof InputRespond>,
): Promise<CommandOutcome> {
  const begun = async (): Promise<CommandOutcome | undefined> => {
    const run = await repeatedRun(services, source.threadId, source.submission);
    return run && { result: { run_id: run.run_id } };
  };
  const outcome = (await begun()) ?? (await answer(services, source, params));
  // The same answer may have been admitted meanwhile.
  return "error" in outcome ? ((await begun()) ?? outcome) : outcome;
}

async function answer(
  services: HttpServices,
  source: CommandSource,
  { responses, interrupt_id, response, update, goto, ...options }: z.output<typeof InputRespond>,
): Promise<CommandOutcome> {
  const given = responses ?? (interrupt_id === undefined ? [] : [{ interrupt_id, response }]);
  if (given.length === 0) return { error: "invalid_argument", message: "input.respond requires an interrupt_id." };
  const session = await services.storage.sessions.get(source.threadId);
  const [last] = session === undefined ? [] : await services.runs.list(session.session_id, { limit: 1, offset: 0 });
  if (session === undefined || last === undefined) return noRun;
  const pending = openQuestions(session);
  if (pending.length === 0) {
    const message = "input.respond can only be used while the run is interrupted.";
    return { error: "invalid_argument", message };
  }
  const unknown = given.find((answer) => !pending.some(({ id }) => id === answer.interrupt_id));
  if (unknown !== undefined) {
    const open = pending.map(({ id }) => id).join(", ");
    const message = `Nothing waits under "${unknown.interrupt_id}". Open now: ${open}.`;
    return { error: "no_such_interrupt", message };
  }
  const asking = (await interruptedRun(services.runs, session.session_id)) ?? last;
  const resume = Object.fromEntries(given.map((answer) => [answer.interrupt_id, answer.response ?? null]));
  const run = await admit(services, source, session, {
    ...bodyOf(asking.assistant_id, options),
    command: { resume, ...(update && { update }), ...(goto && { goto }) },
    multitask_strategy: "enqueue",
  });
  return { result: { run_id: run.run_id } };
}

async function getState(
  services: HttpServices,
  { threadId }: CommandSource,
  { namespace, keys }: z.output<typeof StateGet>,
): Promise<CommandOutcome> {
  const session = await services.storage.sessions.get(threadId);
  if (session === undefined) return noRun;
  const checkpoint_ns = (namespace ?? []).join("|");
  const state = await readState(services, session, { checkpoint_ns }, true);
  if (checkpoint_ns !== "" && state?.createdAt === undefined) {
    return { error: "no_such_namespace", message: `Nothing is stored under the namespace "${checkpoint_ns}".` };
  }
  const values = JsonObject.safeParse(state?.values).data ?? {};
  const { checkpoint_id: id, checkpoint_ns: ns = "" } = state?.config.configurable ?? {};
  const wanted = Object.entries(values).filter(([key]) => keys?.includes(key) ?? true);
  return { result: { values: Object.fromEntries(wanted), ...(typeof id === "string" && { checkpoint: { id, ns } }) } };
}

async function getTree(services: HttpServices, { threadId }: CommandSource): Promise<CommandOutcome> {
  const tree = (await services.storage.sessions.get(threadId)) && (await readTree(services, threadId));
  if (tree === undefined) return noRun;
  return { result: { tree } };
}

const noRun: CommandOutcome = {
  error: "no_such_run",
  message: "No run is bound to this thread; call run.start first.",
};

/** The questions that can be answered, including those left open by a failed run. */
function openQuestions({ status, interrupts }: Session): PendingInterrupt[] {
  return status === "busy" ? [] : Object.values(interrupts).flat();
}

/** The run that a command asks for. A checkpoint in its configuration is where the run forks. */
function bodyOf(assistant_id: string, { config, metadata, context }: z.output<typeof RunOptions>): RunBody {
  const { checkpoint_id, checkpoint_ns, checkpoint_map, thread_id: _, ...configurable } = config?.configurable ?? {};
  const checkpoint = { checkpoint_id, checkpoint_ns, checkpoint_map };
  return {
    assistant_id,
    ...(config && { config: { ...config, configurable } }),
    ...(metadata && { metadata }),
    ...(context && { context }),
    ...(typeof checkpoint_id === "string" && { checkpoint: Checkpoint.parse(checkpoint) }),
    stream_mode: runModes,
    stream_subgraphs: true,
    stream_resumable: true,
  };
}

const Checkpoint = z.object({
  checkpoint_id: z.string(),
  checkpoint_ns: z.string().nullish(),
  checkpoint_map: JsonObject.nullish(),
});

function admit(services: HttpServices, source: CommandSource, session: Session, body: RunBody): Promise<Run> {
  const { threadId: _thread, ...arrival } = source;
  return admitRun(services, session, body, { ...arrival, protocol: "v2" });
}

const Meta = z.object({ thread_id: z.string(), applied_through_seq: z.number() });

/** The answer to a command, for the API's description. */
export const ProtocolAnswerShape = z
  .union([
    z.object({
      type: z.literal("success"),
      id: z.number(),
      result: z.record(z.string(), z.unknown()),
      meta: Meta,
    }),
    z.object({
      type: z.literal("error"),
      id: z.number().nullable(),
      error: z.string(),
      message: z.string(),
      user_message: z.string().optional().describe("For users, where Accept-Language asks for Chinese"),
      meta: Meta.optional(),
    }),
  ])
  .meta({ ref: "ProtocolAnswer" });
