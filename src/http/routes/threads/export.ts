import { Hono } from "hono";
import { z } from "zod";
import { messagesIn, nameOf, toMarkdown, toText } from "@millrace/engine/sessions/messages/conversation";
import { exportFormat, exportSession } from "../../../sessions/messages/export.ts";
import { importSession } from "../../../sessions/messages/import.ts";
import { readValues, requireSession } from "@millrace/engine/sessions/sessions";
import { withOperations } from "../../../sessions/messages/with-operations.ts";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf, type SharedProductServices } from "../../product-services.ts";
import { answerBody, respondJson, languageOf } from "@millrace/engine/http/responses/wire";
import { ThreadShape } from "@millrace/engine/http/responses/shapes";
import { toThread } from "@millrace/engine/http/requests/thread";
import { Id, jsonBody, path, query, QueryFlag } from "@millrace/engine/http/validate";

const ThreadPath = z.object({ thread_id: Id });
const ExportQuery = z.object({
  format: z.enum(["json", "markdown", "text"]).default("json"),
  tools: QueryFlag.optional().describe("Tools' calls and results too; JSON always has them"),
});
const ExportShape = z.looseObject({
  format: z.literal(exportFormat.name),
  version: z.number().int(),
  session_id: z.string(),
  session_name: z.string(),
  messages: z.array(z.looseObject({ type: z.string() })),
});
const ImportQuery = z.object({
  graph_id: z.string().min(1).max(200).optional().describe("Whose thread it becomes, instead of what the file says"),
});
const contentTypes = { markdown: "text/markdown; charset=utf-8", text: "text/plain; charset=utf-8" } as const;

/** `/threads/:id/export` and `/threads/import`: a thread as a file, and back. */
export function exportRoutes(services: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  exportRoute(routes);
  importRoute(routes, services);
  return routes;
}

function exportRoute(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/export",
    describe({
      tag: "Threads",
      summary: "The whole thread as JSON, or what was said as Markdown or text",
      answer: ExportShape,
      texts: Object.values(contentTypes),
      errors: { 404: "No such thread" },
    }),
    path(ThreadPath),
    query(ExportQuery),
    async (context) => {
      const { storage, operations } = productServicesOf(context);
      const { format, tools = false } = context.req.valid("query");
      const session = await requireSession(storage, context.req.valid("param").thread_id);
      const values = await readValues(storage, session.session_id);
      const language = languageOf(context);
      const messages = await withOperations(operations, session, messagesIn(values), language);
      const ending = { json: "json", markdown: "md", text: "txt" }[format];
      context.header("Content-Disposition", `attachment; filename="${session.session_id}.${ending}"`);
      if (format === "json") {
        return respondJson(context, exportSession(session, values, messages, new Date().toISOString()));
      }
      const write = format === "markdown" ? toMarkdown : toText;
      const text = write(nameOf(session, messages).name, messages, { language, tools });
      return answerBody(context, text, contentTypes[format]);
    },
  );
}

function importRoute(routes: HttpApp, { graphs }: SharedProductServices): void {
  routes.post(
    "/threads/import",
    describe({
      tag: "Threads",
      summary: "Make a new thread of a JSON export",
      answer: ThreadShape,
      errors: { 404: "No such graph" },
    }),
    query(ImportQuery),
    jsonBody(z.unknown().describe("What GET /threads/:id/export gives")),
    async (context) => {
      const { storage } = productServicesOf(context);
      const { graph_id } = context.req.valid("query");
      const session = await importSession({ storage, graphs }, context.req.valid("json"), graph_id);
      return respondJson(context, toThread(session, await readValues(storage, session.session_id)));
    },
  );
}
