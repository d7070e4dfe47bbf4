import { basename } from "node:path";
import { Hono } from "hono";
import { z } from "zod";
import { respondBytes } from "@millrace/engine/http/responses/bytes";
import { respondJson, languageOf } from "@millrace/engine/http/responses/wire";
import type { ContentPlace } from "../../../tools/undo/operation-content.ts";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import { Id, jsonBody, path, query } from "@millrace/engine/http/validate";
import type { Language } from "@millrace/engine/language";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { timeSince } from "../../../sessions/overview/since.ts";
import type { NetChange, UndoConflict } from "../../../tools/undo/undo-many.ts";
import { productServicesOf } from "../../product-services.ts";
import { OperationShape, toWireOperation } from "./operations.ts";

const ThreadPath = z.object({ thread_id: Id });
const OperationPath = ThreadPath.extend({ operation_id: Id });
const MessageId = z.string().min(1).max(200);
const FilePath = z.string().min(1).max(4096);
const UndoBody = z
  .object({
    operation_ids: z.array(Id).min(1).max(1_000).optional(),
    run_id: Id.optional().describe("Those of this run"),
    since_message: MessageId.optional().describe("Those that came after this message, and those of its calls"),
    since_checkpoint: Id.optional().describe("Those that came after this state"),
    path: FilePath.optional().describe("Those of this file, or of what is in this folder"),
    dry_run: z.boolean().default(false).describe("Only says what would be done, and what stands in the way"),
  })
  .refine(({ dry_run: _dryRun, ...selection }) => Object.values(selection).some((value) => value !== undefined), {
    error: "name operation_ids, run_id, since_message, since_checkpoint or path",
  });
const HunksBody = z.object({
  hunks: z.array(z.number().int().min(1)).min(1).max(1_000).describe("Their numbers in …/diff"),
});
const ChangesQuery = z.object({
  run_id: Id.optional(),
  since_message: MessageId.optional(),
  since_checkpoint: Id.optional(),
  path: FilePath.optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  cursor: z.coerce.number().int().min(0).default(0).describe("X-Pagination-Next of the page before"),
});
const UndoneShape = z
  .object({
    dry_run: z.boolean(),
    operations: z.array(OperationShape).describe("What was taken back, or would be, the newest first"),
    already_undone: z.array(z.string()),
    conflicts: z
      .array(
        z.object({
          operation_id: z.string(),
          path: z.string(),
          reason: z.enum(["built_upon", "changed", "not_kept", "pending"]),
          message: z.string().describe("In the language of Accept-Language: English or Chinese"),
          later: z
            .array(z.string())
            .describe("The operations that have built on it and are not among them, newest first"),
        }),
      )
      .describe("Why nothing was taken back"),
  })
  .meta({ ref: "UndoneOperations" });
const Kind = z.enum(["absent", "file", "folder", "link", "other"]).nullable();
const ChangeShape = z
  .object({
    path: z.string(),
    old_path: z.string().nullable(),
    type: z.enum(["create", "modify", "delete", "move", "edit"]),
    before: Kind.describe("What was there; null where it is not known, as of what was only moved"),
    after: Kind,
    operations: z
      .array(z.string())
      .describe("Oldest first: the first has the content of before, the last that of after, see …/content"),
    lines_added: z.number().int().nullable(),
    lines_removed: z.number().int().nullable(),
  })
  .meta({ ref: "NetChange" });
const SideQuery = z.object({ side: z.enum(["before", "after"]).default("before") });
const EntriesShape = z
  .array(
    z.object({
      path: z.string(),
      kind: z.enum(["file", "link", "folder", "other"]),
      size: z.number().int().nullable().describe("Bytes, of files only"),
    }),
  )
  .meta({ ref: "FolderEntries" });
const tag = "Operations";
const reasons: Record<UndoConflict["reason"], Record<Language, string>> = {
  built_upon: {
    en: "Later operations have changed the same; take them back with it.",
    zh: "之后的操作又改动了同一内容；请将它们一并撤销。",
  },
  changed: {
    en: "It has been changed since, and not by an operation of this thread.",
    zh: "此后它被其他途径修改过，并非本会话的操作。",
  },
  not_kept: {
    en: "What it replaced is not kept: only small files and recent operations are.",
    zh: "被替换的内容没有保留：只保留较小的文件和近期的操作。",
  },
  pending: { en: "It has no known end yet; try again when its run is over.", zh: "它尚未结束；请在运行结束后重试。" },
};

/** Several operations: undo, net changes, and file contents before and after. */
export function operationChangeRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.post(
    "/threads/:thread_id/operations/undo",
    describe({
      tag,
      summary: "Put back what several operations replaced, all or none; a second time changes nothing",
      answer: UndoneShape,
      errors: { 404: "No such thread, operation, message or checkpoint", 409: "What stands in the way, in JSON" },
      errorAnswers: { 409: UndoneShape },
    }),
    path(ThreadPath),
    jsonBody(UndoBody),
    async (context) => {
      const services = productServicesOf(context);
      const { session_id } = await requireSession(services.storage, context.req.valid("param").thread_id);
      const { operation_ids: ids, dry_run, since_message, since_checkpoint, ...rest } = context.req.valid("json");
      const since = await timeSince(services, session_id, { message: since_message, checkpoint: since_checkpoint });
      const options = { dryRun: dry_run, signal: context.req.raw.signal };
      const done = await services.operations.undoMany(session_id, { ids, since, ...rest }, options);
      const language = languageOf(context);
      const answer: z.infer<typeof UndoneShape> = {
        dry_run,
        operations: done.operations.map((card) => toWireOperation(card, language)),
        already_undone: done.already_undone,
        conflicts: done.conflicts.map((one) => ({ ...one, message: reasons[one.reason][language] })),
      };
      return done.conflicts.length > 0 && !dry_run ? context.json(answer, 409) : respondJson(context, answer);
    },
  );
  hunkRoute(routes);
  readingRoutes(routes);
  return routes;
}

function hunkRoute(routes: HttpApp): void {
  routes.post(
    "/threads/:thread_id/operations/:operation_id/hunks/undo",
    describe({
      tag,
      summary: "Take some hunks of an operation's diff back, all others stay; the answer is the operation that does so",
      answer: OperationShape,
      errors: {
        404: "No such thread, operation or hunk",
        409: "The file has changed there since, or it has no hunks: nothing was taken back",
      },
    }),
    path(OperationPath),
    jsonBody(HunksBody),
    async (context) => {
      const { storage, operations } = productServicesOf(context);
      const { thread_id, operation_id } = context.req.valid("param");
      const { session_id } = await requireSession(storage, thread_id);
      const { hunks } = context.req.valid("json");
      const card = await operations.undoHunks(session_id, operation_id, hunks, context.req.raw.signal);
      return respondJson(context, toWireOperation(card, languageOf(context)));
    },
  );
}

function readingRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/changes",
    describe({
      tag,
      summary: "What the thread, a run, or all since a message has come to for each file",
      answer: z.array(ChangeShape),
      errors: { 404: "No such thread, message or checkpoint" },
    }),
    path(ThreadPath),
    query(ChangesQuery),
    async (context) => {
      const services = productServicesOf(context);
      const { session_id } = await requireSession(services.storage, context.req.valid("param").thread_id);
      const { limit, cursor, since_message, since_checkpoint, ...rest } = context.req.valid("query");
      const since = await timeSince(services, session_id, { message: since_message, checkpoint: since_checkpoint });
      const changes: NetChange[] = await services.operations.net(session_id, { since, ...rest });
      if (changes.length > cursor + limit) context.header("X-Pagination-Next", String(cursor + limit));
      const page: z.infer<typeof ChangeShape>[] = changes.slice(cursor, cursor + limit);
      return respondJson(context, page);
    },
  );

  routes.get(
    "/threads/:thread_id/operations/:operation_id/content",
    describe({
      tag,
      summary: "The bytes of the file before or after an operation; a part of them for a Range",
      bodiless: { 200: "The bytes, as a file to be saved", 206: "The bytes that Range asked for" },
      errors: {
        404: "No such thread or operation, no file on that side, or it is not kept",
        416: "It has no such bytes",
      },
    }),
    path(OperationPath),
    query(SideQuery.extend({ file: FilePath.optional().describe("Of a folder that was there: a path in it") })),
    async (context) => answerContent(context, context.req.valid("param"), context.req.valid("query")),
  );

  routes.get(
    "/threads/:thread_id/operations/:operation_id/entries",
    describe({
      tag,
      summary: "What lay in the folder before or after an operation; see …/content?file= for its files",
      answer: EntriesShape,
      errors: { 404: "No such thread or operation, or no folder on that side" },
    }),
    path(OperationPath),
    query(SideQuery),
    async (context) => {
      const { storage, operations } = productServicesOf(context);
      const { thread_id, operation_id } = context.req.valid("param");
      const { session_id } = await requireSession(storage, thread_id);
      const answer: z.infer<typeof EntriesShape> = await operations.entries(
        session_id,
        operation_id,
        context.req.valid("query").side,
      );
      return respondJson(context, answer);
    },
  );
}

async function answerContent(
  context: HttpContext,
  { thread_id, operation_id }: z.infer<typeof OperationPath>,
  place: ContentPlace,
): Promise<Response> {
  const { storage, operations } = productServicesOf(context);
  const { session_id } = await requireSession(storage, thread_id);
  const { path: file, bytes } = await operations.content(session_id, operation_id, place);
  // Tool output must never be rendered as a page of this server.
  return respondBytes(context, bytes, {
    "content-type": "application/octet-stream",
    "content-disposition": `attachment; filename*=UTF-8''${encodeURIComponent(basename(file))}`,
    "content-security-policy": "sandbox",
    "x-content-type-options": "nosniff",
  });
}
