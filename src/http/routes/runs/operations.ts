import { Hono } from "hono";
import { z } from "zod";
import type { Language } from "@millrace/engine/language";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { operationText } from "../../../tools/undo/operation-diff.ts";
import { cardOf, type OperationCard } from "../../../tools/undo/operations.ts";
import { toolHistory, toolStatistics } from "../../../tools/runtime/tool-history.ts";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf } from "../../product-services.ts";
import { notFound } from "@millrace/engine/http/errors";
import { respondJson, languageOf } from "@millrace/engine/http/responses/wire";
import { Id, path, query } from "@millrace/engine/http/validate";

const ThreadPath = z.object({ thread_id: Id });
const OperationPath = ThreadPath.extend({ operation_id: Id });
const Count = (max: number) => z.coerce.number().int().min(1).max(max);
const OperationQuery = z.object({
  run_id: Id.optional(),
  message_id: z.string().min(1).max(200).optional().describe("The assistant message whose calls are meant"),
  limit: Count(100).default(5),
  offset: z.coerce.number().int().min(0).default(0),
});

/** An operation as the API returns it. */
export const OperationShape = z
  .object({
    operation_id: z.string(),
    type: z.enum(["create", "modify", "delete", "move", "edit"]).describe("edit: the document in the editor, no file"),
    summary: z.string().describe("In the language of Accept-Language: English or Chinese"),
    path: z.string(),
    old_path: z.string().nullable().describe("Where something was that was moved"),
    lines_added: z.number().int().nullable(),
    lines_removed: z.number().int().nullable(),
    first_line: z.number().int().nullable(),
    status: z.enum(["pending", "success", "failed", "undone"]),
    can_undo: z.boolean().describe("Whether what it replaced is kept; it is still refused when the file has changed"),
    content: z
      .string()
      .optional()
      .describe("After an undo of a change of the document in the editor: the text that it is to show again"),
    tool: z.string(),
    run_id: z.string(),
    message_id: z.string(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ ref: "Operation" });
const AnyOperationShape = OperationShape.extend({
  thread_id: z.string(),
}).meta({ ref: "OperationOfAnyThread" });
const AnyQuery = z.object({
  path: z.string().min(1).max(4_096).optional().describe("The file, also where it was moved from or to"),
  thread_id: Id.optional(),
  run_id: Id.optional(),
  limit: Count(1_000).default(50),
  cursor: z.string().max(200).optional().describe("X-Pagination-Next of the page before"),
});
const OperationList = z.object({
  operations: z.array(OperationShape).describe("Newest first"),
  total: z.number().int(),
  more: z.number().int().describe("How many follow after these"),
});
const DiffShape = z
  .object({
    operation_id: z.string(),
    path: z.string(),
    added: z.number().int(),
    removed: z.number().int(),
    lines: z.array(
      z.object({
        kind: z.enum(["same", "removed", "added"]),
        text: z.string(),
        old_line: z.number().int().nullable(),
        new_line: z.number().int().nullable(),
        hunk: z.number().int().describe("1 for the first; lines of one hunk stand together"),
      }),
    ),
    more: z.number().int().describe("How many lines follow after these"),
    hunks: z.number().int().describe("How many hunks can be taken back one by one, see …/hunks/undo; 0: only all"),
    reason: z.enum(["not_text", "not_kept", "moved", "pending"]).nullable().describe("Why there are no lines"),
  })
  .meta({ ref: "OperationDiff" });
const ChangesShape = z.record(
  z.string(),
  z.object({ type: z.enum(["added", "modified"]), diffs: z.array(z.string()), content: z.string().nullable() }),
);
/** A call of a tool as the API returns it. */
export const CallShape = z
  .object({
    call_id: z.string(),
    message_id: z.string(),
    run_id: z.string(),
    tool: z.string(),
    status: z.enum(["executing", "completed", "failed", "unknown"]),
    result: z.unknown().describe("The whole result, also where the model saw only a part of it"),
    started_at: z.string(),
    finished_at: z.string().nullable(),
    duration_ms: z.number().nullable(),
  })
  .meta({ ref: "ToolCall" });
const ToolLogShape = z.object({
  calls: z.array(CallShape).describe("Newest first"),
  total: z.number().int(),
  statistics: z.array(
    z.object({
      tool: z.string(),
      calls: z.number().int(),
      successes: z.number().int(),
      failures: z.number().int(),
      total_ms: z.number(),
      longest_ms: z.number(),
    }),
  ),
});
const tag = "Operations";
const unknownOperation = "No such thread or operation";

/** Workspace changes by tools, with undo, and every tool call. */
export function operationRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  historyRoute(routes);
  listRoutes(routes);
  toolLogRoute(routes);
  itemRoutes(routes);
  return routes;
}

function historyRoute(routes: HttpApp): void {
  routes.get(
    "/operations",
    describe({
      tag,
      summary: "What tools changed in the workspace, in all threads, newest first; or the history of a file",
      answer: z.array(AnyOperationShape),
    }),
    query(AnyQuery),
    async (context) => {
      const { thread_id: session_id, ...page } = context.req.valid("query");
      const { rows, next } = await productServicesOf(context).overview.operations({ ...page, session_id });
      if (next !== null) context.header("X-Pagination-Next", next);
      const language = languageOf(context);
      return respondJson(
        context,
        rows.map((row) => ({ ...toWireOperation(cardOf(row), language), thread_id: row.session_id })),
      );
    },
  );
}

function listRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/operations",
    describe({
      tag,
      summary: "What tools changed in the workspace",
      answer: OperationList,
      errors: { 404: "No such thread" },
    }),
    path(ThreadPath),
    query(OperationQuery),
    async (context) => {
      const { storage, operations } = productServicesOf(context);
      const { session_id } = await requireSession(storage, context.req.valid("param").thread_id);
      const page = context.req.valid("query");
      const { operations: found, total } = await operations.list(session_id, page);
      const more = Math.max(0, total - page.offset - found.length);
      return respondJson(context, {
        operations: found.map((card) => toWireOperation(card, languageOf(context))),
        total,
        more,
      });
    },
  );

  routes.get(
    "/threads/:thread_id/runs/:run_id/changes",
    describe({
      tag,
      summary: "What a run did to each file",
      answer: ChangesShape,
      errors: { 404: "No such thread or run" },
    }),
    path(ThreadPath.extend({ run_id: Id })),
    async (context) => {
      const { storage, runs, operations } = productServicesOf(context);
      const { thread_id, run_id } = context.req.valid("param");
      const { session_id } = await requireSession(storage, thread_id);
      const changes = await operations.changes(session_id, run_id);
      // Changes outlive a deleted run, and manual calls have no run.
      if (Object.keys(changes).length === 0 && (await runs.get(run_id))?.session_id !== session_id) {
        throw notFound("Run not found");
      }
      return respondJson(context, changes);
    },
  );
}

function toolLogRoute(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/tool-log",
    describe({ tag, summary: "Every call of a tool", answer: ToolLogShape, errors: { 404: "No such thread" } }),
    path(ThreadPath),
    query(z.object({ limit: Count(1000).default(100), offset: OperationQuery.shape.offset })),
    async (context) => {
      const { storage, runs } = productServicesOf(context);
      const { session_id } = await requireSession(storage, context.req.valid("param").thread_id);
      const { limit, offset } = context.req.valid("query");
      const [running] = await runs.list(session_id, { limit: 1, offset: 0, status: "running" });
      const history = toolHistory(await storage.ledger.list(session_id), running?.run_id);
      return respondJson(context, {
        calls: history.toReversed().slice(offset, offset + limit),
        total: history.length,
        statistics: toolStatistics(history),
      });
    },
  );
}

function itemRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/operations/:operation_id/diff",
    describe({
      tag,
      summary: "The lines that an operation changed",
      answer: DiffShape,
      errors: { 404: unknownOperation },
    }),
    path(OperationPath),
    query(z.object({ limit: Count(5000).default(20) })),
    async (context) => {
      const { storage, operations } = productServicesOf(context);
      const { thread_id, operation_id } = context.req.valid("param");
      const { session_id } = await requireSession(storage, thread_id);
      const { limit } = context.req.valid("query");
      return respondJson(context, await operations.diff(session_id, operation_id, limit, context.req.raw.signal));
    },
  );

  routes.post(
    "/threads/:thread_id/operations/:operation_id/undo",
    describe({
      tag,
      summary: "Put back what an operation replaced; a second time changes nothing",
      answer: OperationShape,
      errors: { 404: unknownOperation, 409: "The file has changed since, or what it replaced is not kept" },
    }),
    path(OperationPath),
    async (context) => {
      const { storage, operations } = productServicesOf(context);
      const { thread_id, operation_id } = context.req.valid("param");
      const { session_id } = await requireSession(storage, thread_id);
      const card = await operations.undo(session_id, operation_id, context.req.raw.signal);
      return respondJson(context, toWireOperation(card, languageOf(context)));
    },
  );
}

/** An operation in the reader's language. */
export function toWireOperation(card: OperationCard, language: Language): z.infer<typeof OperationShape> {
  return { ...card, summary: operationText(card, language) };
}
