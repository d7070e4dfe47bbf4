import { Hono } from "hono";
import { z } from "zod";
import { readMessages } from "../../../sessions/messages/conversation.ts";
import { requireSession } from "../../../sessions/sessions.ts";
import { choiceRequest, readSuggestions, Suggestions } from "../../../sessions/overview/suggestions.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment } from "../../environment.ts";
import { respondJson } from "../../responses/wire.ts";
import { startRunFor, toWireRun } from "../../requests/runs.ts";
import { RunShape } from "../../responses/shapes.ts";
import { Id, path } from "../../validate.ts";

const ThreadPath = z.object({ thread_id: Id });
const SuggestionPath = ThreadPath.extend({ suggestion_id: z.string().min(1).max(300) });
const SuggestionsShape = Suggestions.meta({ ref: "Suggestions" });
const tag = "Messages";

/** `/threads/:id/suggestions`: the assistant's proposals, and choosing one. */
export function suggestionRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.get(
    "/threads/:thread_id/suggestions",
    describe({
      tag,
      summary: "Everything that was proposed, oldest first, and what became of it",
      answer: z.array(SuggestionsShape),
      errors: { 404: "No such thread" },
    }),
    path(ThreadPath),
    async (context) => {
      const { storage } = servicesOf(context);
      const { session_id } = await requireSession(storage, context.req.valid("param").thread_id);
      return respondJson(context, readSuggestions(await readMessages(storage, session_id)));
    },
  );

  routes.post(
    "/threads/:thread_id/suggestions/:suggestion_id",
    describe({
      tag,
      summary: "Choose one: it becomes the user's next message; answers with the run",
      answer: RunShape,
      setsPositionHeader: true,
      headers: ["Idempotency-Key"],
      errors: {
        404: "No such thread or suggestion",
        409: "It is not open any more",
        422: "The thread is busy",
        429: "Too many runs wait; Retry-After says when to come back",
      },
    }),
    path(SuggestionPath),
    async (context) => {
      const services = servicesOf(context);
      const { thread_id, suggestion_id } = context.req.valid("param");
      const session = await requireSession(services.storage, thread_id);
      const run = await startRunFor(services, context, session, {
        sent: { suggestion_id },
        body: () => choiceRequest(services, session, suggestion_id),
      });
      context.header("Content-Location", `/threads/${run.session_id}/runs/${run.run_id}`);
      return respondJson(context, toWireRun(run));
    },
  );
  return routes;
}
