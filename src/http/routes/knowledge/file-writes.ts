import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { respondJson, languageOf } from "@millrace/engine/http/responses/wire";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import { Id, query, readBytes } from "@millrace/engine/http/validate";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { toolsOfCaller } from "../../../toolkits/route-services.ts";
import { maxManualWriteBytes } from "../../../tools/undo/manual-writes.ts";
import { productServicesOf } from "../../product-services.ts";
import { OperationShape, toWireOperation } from "../runs/operations.ts";

const WriteQuery = z.object({
  path: z.string().min(1).max(3_000).describe("Relative to the workspace"),
  thread_id: Id.optional().describe("The thread of whose operations it is one, so that it can be undone"),
});
const WrittenShape = z
  .object({
    path: z.string(),
    size: z.number().int().nullable().describe("Bytes; null for a file that was deleted"),
    etag: z.string().nullable().describe("As ETag, for the next If-Match; null for a file that was deleted"),
    operation: OperationShape.nullable().describe("What was recorded in the thread, if one was named"),
  })
  .meta({ ref: "WrittenFile" });
const errors = {
  400: "No path in the workspace, a folder, or a file over 20 MB",
  403: "The path leads out of the workspace, or the owner of the key may not change files",
  404: "No such file, or no such thread",
  412: "The file is another one than If-Match says",
};

/** `PUT` and `DELETE /files/content`: files of the workspace that a person writes. */
export function fileWriteRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.put(
    "/files/content",
    describe({
      tag: "Operations",
      summary: "Write a file of the workspace, at most 20 MB: one that is as If-Match says, else a new one",
      headers: ["If-Match"],
      bytes: "The bytes of the file",
      answer: WrittenShape,
      errors: { ...errors, 413: "It is too large", 507: "The disk is full" },
    }),
    query(WriteQuery),
    async (context) => {
      const known = knownBy(context);
      requireTool(context, "write_file", known === undefined ? "create_file" : "update_file");
      const content = await readBytes(context, maxManualWriteBytes);
      const isKnown = known ?? ((tag) => tag === null);
      return await change(context, context.req.valid("query"), { content, isKnown });
    },
  );

  routes.delete(
    "/files/content",
    describe({
      tag: "Operations",
      summary: "Delete a file of the workspace that is as If-Match says",
      headers: ["If-Match"],
      answer: WrittenShape,
      errors: { ...errors, 428: "There is no If-Match" },
    }),
    query(WriteQuery),
    async (context) => {
      requireTool(context, "delete_file");
      const isKnown = requireKnown(context);
      return await change(context, context.req.valid("query"), { content: null, isKnown });
    },
  );
  return routes;
}

/** Throws 403 unless the caller may use one of these tools. */
function requireTool(context: HttpContext, ...names: string[]): void {
  const tools = toolsOfCaller(productServicesOf(context));
  if (tools === undefined || names.some((name) => tools.has(name))) return;
  throw new AppError("permission", "The files of the workspace may not be changed with this key.", {
    suggestion: `Ask the operator of the server to allow the tool ${names[0] ?? ""} for this key.`,
    message_zh: "当前密钥无权更改工作区中的文件。请联系服务器管理员。",
  });
}

/** What `If-Match` says of a file by its tag; `undefined` without the header. */
export function knownBy(context: HttpContext): ((tag: string | null) => boolean) | undefined {
  const header = context.req.header("if-match");
  if (header === undefined) return undefined;
  const tags = header.split(",").map((tag) => tag.trim());
  return (tag) => tag !== null && (tags.includes("*") || tags.includes(tag));
}

/** The same for what has to name it. Throws 428. */
export function requireKnown(context: HttpContext): (tag: string | null) => boolean {
  const isKnown = knownBy(context);
  if (isKnown !== undefined) return isKnown;
  throw new HTTPException(428, { message: "If-Match has to name the file as it is known: the ETag of GET, or *." });
}

async function change(
  context: HttpContext,
  { path, thread_id }: z.infer<typeof WriteQuery>,
  { content, isKnown }: { content: Uint8Array | null; isKnown: (tag: string | null) => boolean },
): Promise<Response> {
  const { storage, operations } = productServicesOf(context);
  const session = thread_id === undefined ? undefined : await requireSession(storage, thread_id);
  const sessionId = session?.session_id;
  const done = await operations.write({ path, content, isKnown, sessionId }, context.req.raw.signal);
  if (done.kind === "changed") {
    const message =
      done.tag === null
        ? `"${done.path}" does not exist (any more).`
        : `"${done.path}" has changed, or exists already; its ETag is ${done.tag}.`;
    throw new HTTPException(412, { message });
  }
  if (done.tag !== null) context.header("ETag", done.tag);
  const operation = done.operation === undefined ? null : toWireOperation(done.operation, languageOf(context));
  return respondJson(context, { path: done.path, size: content?.length ?? null, etag: done.tag, operation });
}
