import { Hono } from "hono";
import { z } from "zod";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { readWholeResult } from "../../../sessions/messages/whole-result.ts";
import { describe } from "@millrace/engine/http/describe";
import { servicesOf, type HttpApp, type HttpEnvironment } from "@millrace/engine/http/environment";
import { notFound } from "@millrace/engine/http/errors";
import { answerBody, respondJson, pageHeaders } from "@millrace/engine/http/responses/wire";
import { Id, path, query } from "@millrace/engine/http/validate";

const ResultPath = z.object({
  thread_id: Id,
  result_id: z.string().min(1).max(500).describe("`whole_result.id` of the tool's message, its slash as %2F"),
});
/** Maximum characters of one response: a result may have many millions. */
const maxCharacters = 2_000_000;
const ResultQuery = z.object({
  format: z.enum(["json", "text"]).default("json"),
  offset: z.coerce.number().int().min(0).default(0).describe("Characters to pass over"),
  limit: z.coerce.number().int().min(1).max(maxCharacters).default(maxCharacters).describe("Characters at most"),
});
const ResultShape = z
  .object({
    result_id: z.string(),
    tool: z.string(),
    characters: z.number().int().describe("Of the whole"),
    offset: z.number().int(),
    next_offset: z.number().int().nullable().describe("Where the rest begins; null at the end"),
    content: z.string(),
  })
  .meta({ ref: "ToolResult" });
const plainText = "text/plain; charset=utf-8";

/** `/threads/:id/results/:result_id`: the whole result of a tool when its message holds only a part. */
export function resultRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/threads/:thread_id/results/:result_id",
    describe({
      tag: "Operations",
      summary: "The whole result of a tool's call, also where the message holds only a part of it",
      answer: ResultShape,
      texts: [plainText],
      errors: { 404: "No such thread, or the thread has no such result" },
    }),
    path(ResultPath),
    query(ResultQuery),
    async (context) => {
      const { storage } = servicesOf(context);
      const { thread_id, result_id } = context.req.valid("param");
      const { format, offset, limit } = context.req.valid("query");
      const { session_id } = await requireSession(storage, thread_id);
      const result = await readWholeResult({ storage }, session_id, result_id);
      if (result === undefined) throw notFound("The thread has no such result");
      const { tool, text } = result;
      const end = endOfPart(text, offset, limit);
      const content = text.slice(offset, end);
      pageHeaders(context, { offset, total: text.length, count: content.length });
      if (format === "text") {
        // Web content read by a tool must not become a page of this server.
        context.header("X-Content-Type-Options", "nosniff");
        return answerBody(context, content, plainText);
      }
      const next_offset = end < text.length ? end : null;
      return respondJson(context, { result_id, tool, characters: text.length, offset, next_offset, content });
    },
  );
  return routes;
}

/** Never splits a character, so that parts can be joined in any encoding. */
function endOfPart(text: string, offset: number, limit: number): number {
  const end = Math.min(text.length, offset + limit);
  const isHalf = end > offset && end < text.length && (text.codePointAt(end - 1) ?? 0) > 0xffff;
  return isHalf ? end + 1 : Math.max(end, Math.min(offset, text.length));
}
