import { z } from "zod";
import { AppError } from "../errors/errors.ts";
import type { Approval, JsonObject, OperationRecord, Run, RunStatus } from "./records.ts";
import type { Usage } from "./usage.ts";

/** Which sessions are looked at: those of an owner, with `orphans` also those without one; those whose metadata contain this. */
export interface SessionFilter {
  owner?: { name: string; orphans: boolean };
  metadata?: JsonObject;
}

/** One page of a list over all sessions; `cursor` is `next` of the page before. */
interface PageQuery {
  sessions: SessionFilter;
  session_id?: string | undefined;
  graph_id?: string | undefined;
  limit: number;
  cursor?: string | undefined;
}

/** Rows of one page, and where the next one begins; `null` at the end. */
export interface PageOf<Row> {
  rows: Row[];
  next: string | null;
}

/** Which questions of all sessions are wanted: what waits oldest first, others newest first. */
export interface ApprovalQuery extends PageQuery {
  state: Approval["state"];
}

/** A run with what its model calls have used so far; null where it has asked none, or an older version has run it. */
export type ListedRun = Run & { usage: Usage | null };

/** Which runs of all sessions are wanted, newest first. Dates are ISO-8601; `from` is within, `to` is not. */
export interface RunQuery extends PageQuery {
  run_id?: string | undefined;
  status?: RunStatus | undefined;
  assistant_id?: string | undefined;
  cron_id?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  /** The kind of error that they ended with. */
  error?: string | undefined;
}

/** Which operations of all sessions are wanted, newest first; `path`: of the file at it, also what was moved there or away. */
export interface OperationQuery extends Omit<PageQuery, "graph_id"> {
  run_id?: string | undefined;
  path?: string | undefined;
}

/** How many runs were created in a span of time that begins `at`, by how they are now. */
export interface RunCount {
  at: string;
  status: RunStatus;
  count: number;
}

/** Looks over all sessions. */
export interface OverviewStore {
  approvals(query: ApprovalQuery): Promise<PageOf<Approval>>;
  /** How many questions wait. */
  waiting(sessions: SessionFilter): Promise<number>;
  /** How many runs are not over. */
  working(sessions: SessionFilter): Promise<number>;
  runs(query: RunQuery): Promise<PageOf<ListedRun>>;
  /** What tools changed in the workspace. */
  operations(query: OperationQuery): Promise<PageOf<OperationRecord>>;
  /** Counts in spans of so many seconds, oldest first; spans without runs are left out. */
  histogram(query: Omit<RunQuery, "limit" | "cursor"> & { seconds: number }): Promise<RunCount[]>;
}

const Cursor = z.tuple([z.string(), z.number().int()]);
const WithKey = z.object({ key: z.number() });

/** Where a page begins: the date and the key of the last row of the page before. */
export function readCursor(cursor: string): [at: string, key: number] {
  const space = cursor.lastIndexOf(" ");
  const parsed = Cursor.safeParse([cursor.slice(0, space), Number(cursor.slice(space + 1))]);
  if (space < 1 || !parsed.success) {
    throw new AppError("invalid_parameter", "The cursor is none that a page has given.", {
      suggestion: "Take the X-Pagination-Next of the page before, or leave it out.",
    });
  }
  return parsed.data;
}

/** The page of what was read: one row more than it holds says that it is not the last. Each of `found` has a `key`. */
export function pageOf<Row>(found: unknown[], rows: Row[], limit: number, dateOf: (row: Row) => string): PageOf<Row> {
  const last = rows[limit - 1];
  if (rows.length <= limit || last === undefined) return { rows, next: null };
  const { key } = WithKey.parse(found[limit - 1]);
  return { rows: rows.slice(0, limit), next: `${dateOf(last)} ${key}` };
}
