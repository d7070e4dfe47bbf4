import { z } from "zod";
import { clusterTime } from "../concurrency/cluster-time.ts";
import { AppError } from "../errors/errors.ts";
import { Cron, SessionTtl } from "./record-stores.ts";
import { Usage } from "./usage.ts";
import { Approval, Assistant, Grant, OperationRecord, Run, Session, Task, ToolCallRecord } from "./records.ts";

function parseText(text: string, context: z.RefinementCtx): unknown {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue({ code: "custom", message: "not JSON" });
    return z.NEVER;
  }
}

/** A column that holds `schema` as JSON text. */
export function json<Schema extends z.ZodType>(schema: Schema) {
  return z.string().transform(parseText).pipe(schema);
}

/** A row of `sessions`. */
export const SessionRow = Session.extend({
  metadata: json(Session.shape.metadata),
  config: json(Session.shape.config),
  interrupts: json(Session.shape.interrupts),
});

const unlessNull = z
  .string()
  .nullable()
  .transform((text) => text ?? undefined);

/** A row of `runs`, with the session's id as `session_id`. */
export const RunRow = Run.extend({
  kwargs: json(Run.shape.kwargs),
  metadata: json(Run.shape.metadata),
  error: json(Run.shape.error),
  cancel_reason: unlessNull,
  started_at: unlessNull,
});

/** How many of a session's runs `RunStore.marks` gives. */
export const runsMarked = 50;

/** A row of `runs` with what the run has used as `usage`. */
export const ListedRunRow = RunRow.extend({ usage: json(Usage).nullable() });

/** An assistant at the version in use; SQLite keeps truth as 0 and 1. */
export const AssistantRow = Assistant.extend({
  is_system: z.number().transform((flag) => flag !== 0),
  config: json(Assistant.shape.config),
  context: json(Assistant.shape.context),
  metadata: json(Assistant.shape.metadata),
});

/** A row of `assistant_versions`, with the assistant's id as `assistant_id`. */
export const AssistantVersionRow = AssistantRow.omit({ owner: true, is_system: true, updated_at: true });

/** The run a client's key belongs to, and the hash of what it sent. */
export const SubmissionRow = z.object({ run_id: z.string(), request_hash: z.string() });

/** A row of `tool_calls`, with the session's id as `session_id`. */
export const ToolCallRow = ToolCallRecord.extend({ result: json(ToolCallRecord.shape.result) });

/** When a call began, of a row of `tool_calls`. */
export const BegunRow = ToolCallRecord.pick({ tool_call_id: true, started_at: true });

/** A row of `operations`, with the session's id as `session_id`. */
export const OperationRow = OperationRecord.extend({
  change: json(OperationRecord.shape.change),
  is_kept: z.number().transform((flag) => flag !== 0),
});

/** Bytes of a row of `operation_contents`. */
export const ContentRow = z.object({ bytes: z.instanceof(Uint8Array) });

/** A row of `tasks`; SQLite keeps truth as 0 and 1. */
export const TaskRow = Task.extend({
  completed: z.number().transform((flag) => flag !== 0),
  scheduled_dates: json(Task.shape.scheduled_dates),
});

/** A row of `crons`, with the session's id as `session_id`. */
export const CronRow = Cron.extend({
  payload: json(Cron.shape.payload),
  metadata: json(Cron.shape.metadata),
  enabled: z.number().transform((flag) => flag !== 0),
});

/** A row of `webhooks`. */
export const WebhookRow = z.object({
  webhook_id: z.number().int(),
  run_id: z.string(),
  url: z.string(),
  host: z.string(),
  owner: z.string().nullable(),
  body: z.string(),
  attempts: z.number().int(),
  due_at: z.string(),
});

/** A row of `session_ttls` with when its session was last touched and what it is doing; `session` is its key. */
export const SessionTtlRow = SessionTtl.extend({ session: z.number(), updated_at: z.string(), status: z.string() });

/** The date (ISO) so many minutes after a time in milliseconds. */
export function afterMinutes(time: number, minutes: number): string {
  return new Date(Math.min(time + minutes * 60_000, 8.64e15)).toISOString();
}

/** When the time of a session is over that was touched as its row says; of one at work not before its time has passed again. */
export function expiryOf({ status, updated_at, minutes, expires_at }: z.infer<typeof SessionTtlRow>): string {
  const since = afterMinutes(status === "busy" ? clusterTime() : Date.parse(updated_at), minutes);
  return since > expires_at ? since : expires_at;
}

/** The time that counts. */
export function toTtl(row: z.infer<typeof SessionTtlRow>): SessionTtl {
  const { session_id, minutes, strategy } = row;
  return { session_id, minutes, strategy, expires_at: expiryOf(row) };
}

/** A row of `approvals`, with the session's id as `session_id`. */
export const ApprovalRow = Approval.extend({
  value: json(Approval.shape.value),
  decision: json(Approval.shape.decision),
});

/** A row of `grants`, with the session's id as `session_id`. */
export const GrantRow = Grant;

/** A row that holds one number under the name `count`. */
export const CountRow = z.object({ count: z.number() });

/**
 * The record in `row`. What comes from disk is checked like anything from outside: throws `storage_corrupt`, naming the
 * table and the column, when it is not what was written.
 */
export function parseRow<Schema extends z.ZodType>(schema: Schema, table: string, row: unknown): z.infer<Schema> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  throw new AppError("storage_corrupt", `A row of the table ${table} cannot be read (${problems}).`, {
    suggestion: "Restore the database from a backup.",
  });
}

/** As `parseRow`, for a query that may find nothing. */
export function readRow<Schema extends z.ZodType>(
  schema: Schema,
  table: string,
  row: unknown,
): z.infer<Schema> | undefined {
  return row === undefined ? undefined : parseRow(schema, table, row);
}

/** The records of all `rows`; see `parseRow`. */
export function readRows<Schema extends z.ZodType>(schema: Schema, table: string, rows: unknown[]): z.infer<Schema>[] {
  return rows.map((row) => parseRow(schema, table, row));
}

const canonicalUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An id as SQLite stores it: a UUID as its 16 bytes (which sort like its text), anything else as text. */
export function packId(id: string): string | Buffer {
  return canonicalUuid.test(id) ? Buffer.from(id.replaceAll("-", ""), "hex") : id;
}

/** The id that `packId` has packed. */
export function unpackId(id: string | Buffer): string {
  if (typeof id === "string") return id;
  const hex = id.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
