import * as z from "zod/mini";

/** What the console reads of the server's answers; fields that it does not use are left out. */

const Json = z.record(z.string(), z.unknown());

export const Caller = z.object({
  caller: z.string(),
  name: z.nullable(z.string()),
  may_administer: z.boolean(),
  features: z.optional(z.record(z.string(), z.boolean())),
  server: z.optional(z.object({ version: z.optional(z.string()), started_at: z.optional(z.string()) })),
  disabled: z.optional(z.array(z.string())),
});
export type Caller = z.infer<typeof Caller>;

/** Where a text was found, with the words around it. */
export const Hit = z.object({
  message_id: z.nullish(z.string()),
  before: z.optional(z.string()),
  match: z.optional(z.string()),
  after: z.optional(z.string()),
});

export const ThreadStatus = z.enum(["idle", "busy", "interrupted", "error"]);
export const ThreadInfo = z.object({
  thread_id: z.string(),
  name: z.string(),
  status: ThreadStatus,
  created_at: z.string(),
  updated_at: z.string(),
  message_count: z.number(),
  preview: z.string(),
  last_words: z.string(),
  has_partial_response: z.boolean(),
  forked_from: z.nullish(z.object({ thread_id: z.string(), message_id: z.string() })),
  graph_id: z.nullish(z.string()),
  assistant_id: z.nullish(z.string()),
  pinned: z.boolean(),
  archived: z.boolean(),
  read_at: z.nullable(z.string()),
  unread_since: z.nullable(z.string()),
  hits: z.optional(z.array(Hit)),
});
export type ThreadInfo = z.infer<typeof ThreadInfo>;
export const ThreadPage = z.object({ threads: z.array(ThreadInfo), next: z.nullable(z.number()) });
export const ThreadDetails = z.extend(ThreadInfo, {
  context_usage: z.object({
    tokens: z.number(),
    limit: z.number(),
    ratio: z.number(),
    compress_button_state: z.string(),
  }),
  total_usage: z.object({ input_tokens: z.number(), output_tokens: z.number(), cost: z.nullable(z.number()) }),
});
export type ThreadDetails = z.infer<typeof ThreadDetails>;

export const BackgroundAgent = z.object({
  thread_id: z.string(),
  run_id: z.nullable(z.string()),
  name: z.string(),
  task: z.string(),
  status: z.enum(["queued", "working", "asking", "finished"]),
  begun_at: z.string(),
  report: z.nullable(
    z.object({
      success: z.boolean(),
      end_reason: z.string(),
      reply: z.string(),
      tokens: z.number(),
      cost: z.nullable(z.number()),
    }),
  ),
});
export type BackgroundAgent = z.infer<typeof BackgroundAgent>;

/** A thread as the LangGraph API has it. */
export const Thread = z.object({ thread_id: z.string(), metadata: z.nullish(Json), status: z.optional(z.string()) });

export const ToolCall = z.object({ id: z.nullable(z.string()), name: z.string(), args: Json });
export const Suggestions = z.object({
  message_id: z.string(),
  status_summary: z.string(),
  options: z.array(z.object({ id: z.string(), label: z.string(), text: z.string(), kind: z.optional(z.string()) })),
  state: z.enum(["active", "selected", "expired"]),
  selected_id: z.nullable(z.string()),
});
export type Suggestions = z.infer<typeof Suggestions>;
export const Message = z.object({
  id: z.nullable(z.string()),
  role: z.string(),
  content: z.string(),
  reasoning: z.string(),
  timestamp: z.nullable(z.string()),
  is_partial: z.boolean(),
  stop_reason: z.string(),
  operations: z.array(z.string()),
  attachments: z.array(z.looseObject({ name: z.optional(z.string()), path: z.optional(z.string()) })),
  llm_metadata: z.nullish(z.looseObject({ model_name: z.optional(z.string()), run_id: z.optional(z.string()) })),
  tool_calls: z.array(ToolCall),
  tool_call_id: z.nullable(z.string()),
  name: z.nullable(z.string()),
  whole_result: z.nullish(z.object({ id: z.string(), characters: z.number() })),
  call_started_at: z.nullish(z.string()),
  suggestions: z.nullable(Suggestions),
  web_search_results: z.array(z.looseObject({ title: z.optional(z.string()), url: z.optional(z.string()) })),
});
export type Message = z.infer<typeof Message>;
export const MessagePage = z.object({
  messages: z.array(Message),
  total: z.number(),
  before: z.nullable(z.string()),
});
export type MessagePage = z.infer<typeof MessagePage>;

export const Activity = z.object({
  is_loading: z.boolean(),
  is_stop_loading: z.boolean(),
  queue_length: z.number(),
  usage_ratio: z.number(),
  error: z.nullish(z.looseObject({ message: z.optional(z.string()), error: z.optional(z.string()) })),
  model: z.object({ name: z.string(), display_name: z.string() }),
});
export type Activity = z.infer<typeof Activity>;

export const DiffLine = z.object({
  kind: z.enum(["same", "removed", "added"]),
  text: z.string(),
  old_line: z.nullable(z.number()),
  new_line: z.nullable(z.number()),
  /** Of an operation: 1 for the first; those of one stand together. */
  hunk: z.optional(z.number()),
});
export type DiffLine = z.infer<typeof DiffLine>;
export const OperationDiff = z.object({
  path: z.string(),
  added: z.number(),
  removed: z.number(),
  lines: z.array(DiffLine),
  more: z.number(),
  /** How many can be taken back one by one. */
  hunks: z.number(),
  reason: z.nullable(z.string()),
});
export type OperationDiff = z.infer<typeof OperationDiff>;

/** What a call would do that has not been done. */
export const Effect = z.object({
  kind: z.string(),
  summary: z.string(),
  paths: z.array(z.string()),
  diff: z.optional(
    z.object({
      added: z.number(),
      removed: z.number(),
      lines: z.array(DiffLine),
      more: z.number(),
    }),
  ),
  command: z.optional(z.string()),
  undoable: z.boolean(),
});
export const Approval = z.object({
  id: z.string(),
  thread_id: z.string(),
  kind: z.string(),
  tool: z.nullable(z.string()),
  args: z.nullable(Json),
  question: z.nullable(z.string()),
  allowed_decisions: z.array(z.string()),
  may_remember: z.boolean(),
  hash: z.nullable(z.string()),
  asked_at: z.string(),
  expires_at: z.nullable(z.string()),
  value: z.unknown(),
  effect: z.nullish(Effect),
  thread: z.nullish(z.object({ name: z.string(), parent: z.nullable(z.string()) })),
});
export type Approval = z.infer<typeof Approval>;

export const Operation = z.object({
  operation_id: z.string(),
  type: z.enum(["create", "modify", "delete", "move", "edit"]),
  summary: z.string(),
  path: z.string(),
  old_path: z.nullable(z.string()),
  lines_added: z.nullable(z.number()),
  lines_removed: z.nullable(z.number()),
  status: z.enum(["pending", "success", "failed", "undone"]),
  can_undo: z.boolean(),
  tool: z.string(),
  run_id: z.string(),
  message_id: z.string(),
  created_at: z.string(),
});
export type Operation = z.infer<typeof Operation>;
export const OperationPage = z.object({ operations: z.array(Operation), total: z.number(), more: z.number() });
export const Assistant = z.object({
  assistant_id: z.string(),
  graph_id: z.string(),
  name: z.nullish(z.string()),
  description: z.nullish(z.string()),
  metadata: z.nullish(Json),
  version: z.optional(z.number()),
});
export type Assistant = z.infer<typeof Assistant>;

export const Run = z.object({
  run_id: z.string(),
  thread_id: z.string(),
  assistant_id: z.optional(z.string()),
  status: z.string(),
  cancel_reason: z.optional(z.string()),
  created_at: z.string(),
  kwargs: z.optional(z.looseObject({ input: z.optional(z.unknown()), context: z.nullish(Json) })),
});
export type Run = z.infer<typeof Run>;

/** The answer to a command of the event protocol. */
export const CommandAnswer = z.object({
  type: z.string(),
  result: z.optional(z.looseObject({ run_id: z.optional(z.string()) })),
  error: z.optional(z.unknown()),
  message: z.optional(z.string()),
  user_message: z.optional(z.string()),
});

export const ModelList = z.looseObject({
  roles: z.optional(z.record(z.string(), z.string())),
  models: z.optional(z.array(z.looseObject({ name: z.string(), display_name: z.optional(z.string()) }))),
});
