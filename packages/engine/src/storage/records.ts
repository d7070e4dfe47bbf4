import { z } from "zod";

/** Which rows of a list, newest first unless said otherwise. */
export interface Page {
  limit: number;
  offset: number;
}

/** Any JSON object. */
export const JsonObject = z.record(z.string(), z.unknown());
export type JsonObject = z.infer<typeof JsonObject>;

/** An interrupt that waits for an answer, as LangGraph gives it: its id and what was asked. */
export const PendingInterrupt = z.object({ id: z.string(), value: z.unknown() });
export type PendingInterrupt = z.infer<typeof PendingInterrupt>;

/**
 * A graph with what its runs are given unless they say something else. `version` is the one in use; `is_system`: the
 * graph's own one, which all callers see. Else it is `owner`'s, or has no owner (`null`).
 */
export const Assistant = z.object({
  assistant_id: z.string(),
  owner: z.string().nullable(),
  is_system: z.boolean(),
  graph_id: z.string(),
  config: JsonObject,
  context: JsonObject,
  metadata: JsonObject,
  version: z.number().int(),
  name: z.string(),
  description: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type Assistant = z.infer<typeof Assistant>;

/** What a session is doing, as the wire says it. */
export const SessionStatus = z.enum(["idle", "busy", "interrupted", "error"]);
export type SessionStatus = z.infer<typeof SessionStatus>;

/**
 * One conversation: a LangGraph thread (`session_id` = `thread_id`). Its messages are not here but in its checkpoints.
 * `interrupts` are those of the last run, by task id; dates are ISO-8601 UTC with milliseconds.
 */
export const Session = z.object({
  session_id: z.string(),
  /** Whose key made it; `null` when no key was asked for. The wire never shows it. */
  owner: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  metadata: JsonObject,
  config: JsonObject,
  status: SessionStatus,
  interrupts: z.record(z.string(), z.array(PendingInterrupt)),
});
export type Session = z.infer<typeof Session>;

/** Where a run is in its life. The row is the authority: a run is over when this says so, never when `next` is empty. */
export const RunStatus = z.enum(["pending", "running", "success", "error", "timeout", "interrupted"]);
export type RunStatus = z.infer<typeof RunStatus>;

/** What happens to a run that comes while another of its session is not over. */
export const MultitaskStrategy = z.enum(["reject", "enqueue", "interrupt", "rollback"]);
export type MultitaskStrategy = z.infer<typeof MultitaskStrategy>;

/** What failed, as a stream's `error` event shows it. */
export const RunError = z.object({
  error: z.string(),
  message: z.string(),
  /** What can be done, in each language, where more is known than the kind says. */
  advice: z.object({ en: z.string(), zh: z.string() }).optional(),
});
export type RunError = z.infer<typeof RunError>;

/** What a run was asked to do, kept whole so that a restart can go on with it. */
export const RunKwargs = z.object({
  input: z.unknown().optional(),
  command: JsonObject.optional(),
  config: JsonObject,
  context: JsonObject,
  stream_mode: z.array(z.string()),
  stream_subgraphs: z.boolean(),
  stream_resumable: z.boolean(),
  /** Begun by a command of the event protocol: its log holds what that needs. */
  protocol: z.literal("v2").optional(),
  interrupt_before: z.union([z.literal("*"), z.array(z.string())]).optional(),
  interrupt_after: z.union([z.literal("*"), z.array(z.string())]).optional(),
  checkpoint: JsonObject.optional(),
  /** Where its end is sent: an address, or a path of this server. */
  webhook: z.string().optional(),
  /** The keys of its feedback; where LangSmith traces, its readers get an address for each. */
  feedback_keys: z.array(z.string()).optional(),
  /** The project its spans go to as well, and the example of a data set that it stands for; where LangSmith traces. */
  langsmith_tracer: z.object({ project_name: z.string().optional(), example_id: z.string().optional() }).optional(),
  /** An answer to a question that is not open fails the run, instead of being passed over. */
  strict_resume: z.boolean().optional(),
  temporary: z.boolean(),
  /** The hash of the graph's shape when the run was admitted; absent for a graph that is made for each run. */
  graph_version: z.string().optional(),
  durability: z.enum(["sync", "async", "exit"]),
  /** The request that asked for it, by its id, and where it stands in the trace of its client. */
  request: z.object({ id: z.string().optional(), traceparent: z.string().optional() }).optional(),
  /** The user of `auth.path` who asked for it, whose tasks and tools are its own. Default: the owner of its session. */
  owner: z.string().optional(),
});
export type RunKwargs = z.infer<typeof RunKwargs>;

/** How a run is to be stopped: what it has done is kept (`interrupt`), or the run is removed with it (`rollback`). */
export const StopAction = z.enum(["interrupt", "rollback"]);
export type StopAction = z.infer<typeof StopAction>;

/**
 * One walk through a graph. `event_mark` is the first event id no attempt has used yet, `crashes` counts the attempts
 * that ended with the process (a server's own stop is none), `expired_events` is the newest event id that retention
 * has removed (-1: none). `stop_requested` is how a client asked to stop it before it was over: such a run is never
 * executed again; `cancel_reason` is why, in the words of the first who said so; `started_at` is when its first
 * attempt began.
 */
export const Run = z.object({
  run_id: z.string(),
  session_id: z.string(),
  assistant_id: z.string(),
  graph_id: z.string(),
  status: RunStatus,
  kwargs: RunKwargs,
  metadata: JsonObject,
  multitask_strategy: MultitaskStrategy,
  attempt: z.number().int(),
  crashes: z.number().int(),
  event_mark: z.number().int(),
  expired_events: z.number().int(),
  stop_requested: StopAction.nullable(),
  cancel_reason: z.string().optional(),
  error: RunError.nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  started_at: z.string().optional(),
});
export type Run = z.infer<typeof Run>;

/** How a run stands, without what it was given. */
export const RunMark = Run.pick({ run_id: true, status: true, attempt: true, stop_requested: true });
export type RunMark = z.infer<typeof RunMark>;

/**
 * What may happen when a tool call is repeated after a crash: nothing (`pure`), the same end state (`idempotent`), or a
 * second effect, where looking can say whether there was a first (`reconcilable`) or nothing can (`unsafe`). Law 3: a
 * started call of the last two with no end is never repeated by itself.
 */
export const EffectClass = z.enum(["pure", "idempotent", "reconcilable", "unsafe"]);
export type EffectClass = z.infer<typeof EffectClass>;

/** A row of the ledger: one tool call of one session, written before it starts and when it ends. `result` is JSON. */
export const ToolCallRecord = z.object({
  session_id: z.string(),
  tool_call_id: z.string(),
  run_id: z.string(),
  tool: z.string(),
  effect: EffectClass,
  state: z.enum(["started", "finished"]),
  result: z.unknown(),
  started_at: z.string(),
  finished_at: z.string().nullable(),
});
export type ToolCallRecord = z.infer<typeof ToolCallRecord>;

/** What lies at a path that is no folder: enough to tell whether it has changed, and with the bytes of `hash` to restore it. */
const EntryState = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("file"), mode: z.number(), size: z.number(), hash: z.string() }),
  z.object({ kind: z.literal("link"), target: z.string() }),
  z.object({ kind: z.literal("other") }),
]);

/** What lies at a path of the workspace. A folder holds all below it, outermost first, by paths relative to it. */
export const FileState = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("absent") }),
  ...EntryState.options,
  z.object({
    kind: z.literal("folder"),
    mode: z.number(),
    entries: z.array(
      z.object({
        path: z.string(),
        state: z.discriminatedUnion("kind", [
          ...EntryState.options,
          z.object({ kind: z.literal("folder"), mode: z.number() }),
        ]),
      }),
    ),
  }),
]);
export type FileState = z.infer<typeof FileState>;

/**
 * What a call changed, by paths of the workspace: what was at a path and what was there afterwards (`null` before the
 * call has ended), or a way from one path to another (`identity` tells the moved thing from another of its name).
 * `made` are the folders above it that were made with it, outermost first. `document`: the text in the client's editor,
 * which is no file; `turn` is the message of the user that it was changed for.
 */
export const FileChange = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("write"),
    path: z.string(),
    before: FileState,
    after: FileState.nullable(),
    made: z.array(z.string()),
  }),
  z.object({
    kind: z.literal("move"),
    from: z.string(),
    to: z.string(),
    identity: z.string().nullable(),
    made: z.array(z.string()),
  }),
  z.object({
    kind: z.literal("document"),
    path: z.string(),
    turn: z.string(),
    before: FileState,
    after: FileState.nullable(),
  }),
]);
export type FileChange = z.infer<typeof FileChange>;

/**
 * One tool call that changed the workspace, written before it starts and when it ends. `tool_call_id` is the ledger's.
 * `lines_…` and `first_line` (counted from 1) are those of a change of text, else `null`; `is_kept` says whether the
 * bytes of before are there.
 */
export const OperationRecord = z.object({
  operation_id: z.string(),
  session_id: z.string(),
  run_id: z.string(),
  message_id: z.string(),
  tool_call_id: z.string(),
  tool: z.string(),
  status: z.enum(["pending", "success", "failed", "undone"]),
  change: FileChange,
  lines_added: z.number().int().nullable(),
  lines_removed: z.number().int().nullable(),
  first_line: z.number().int().nullable(),
  is_kept: z.boolean(),
  created_at: z.string(),
  updated_at: z.string(),
});
export type OperationRecord = z.infer<typeof OperationRecord>;

/** A planner task. Dates are `YYYY-MM-DD`. */
export const Task = z.object({
  task_id: z.string(),
  /** Whose it is, as that of a session; the wire never shows it. */
  owner: z.string().nullable(),
  /** In which it was made; `null`: by hand. The session may be gone. */
  session_id: z.string().nullable(),
  title: z.string(),
  completed: z.boolean(),
  area_id: z.string().nullable(),
  scheduled_dates: z.array(z.string()),
  created_at: z.string(),
  updated_at: z.string(),
});
export type Task = z.infer<typeof Task>;

/**
 * A question that a run has put to a person: one interrupt of one session. `value` is what was asked. `answered`: an
 * answer is on its way with `run_id`, or was used; `stale`: the session moved on without one. Dates are ISO-8601 UTC.
 */
export const Approval = z.object({
  session_id: z.string(),
  interrupt_id: z.string(),
  task_id: z.string(),
  value: z.unknown(),
  state: z.enum(["pending", "answered", "stale"]),
  /** What was answered, as the graph gets it; `null` before. */
  decision: z.unknown(),
  decided_by: z.enum(["person", "timeout"]).nullable(),
  /** The run that carries the answer, or that moved on. */
  run_id: z.string().nullable(),
  asked_at: z.string(),
  decided_at: z.string().nullable(),
});
export type Approval = z.infer<typeof Approval>;

/** A yes that a session remembers: later calls of `tool` on paths that match are not asked about. */
export const Grant = z.object({
  grant_id: z.string(),
  session_id: z.string(),
  tool: z.string(),
  path_pattern: z.string(),
  /** The question it was given with. */
  interrupt_id: z.string(),
  created_at: z.string(),
});
export type Grant = z.infer<typeof Grant>;

/** The current session of a namespace. */
export const Namespace = z.object({ namespace: z.string(), session_id: z.string(), updated_at: z.string() });
export type Namespace = z.infer<typeof Namespace>;
