import { Hono } from "hono";
import { z } from "zod";
import { Branch, readBranches, setHead } from "../../../sessions/state/branches.ts";
import { requireSession } from "../../../sessions/sessions.ts";
import { respondJson } from "../../responses/wire.ts";
import { describe } from "../../describe.ts";
import { servicesOf, type HttpApp, type HttpEnvironment } from "../../environment.ts";
import { Id, jsonBody, path, query } from "../../validate.ts";

const ThreadPath = z.object({ thread_id: Id });
const BranchQuery = z.object({
  message: z.string().min(1).max(200).optional().describe("Only the versions of this message, one branch for each"),
  limit: z.coerce.number().int().min(1).max(1_000).default(100),
  cursor: z.coerce.number().int().min(0).default(0).describe("X-Pagination-Next of the page before"),
});
const HeadBody = z.object({
  checkpoint_id: Id.describe("The state from which the thread is to go on"),
  expected_checkpoint_id: Id.nullish().describe("Refused with 409 where this is not the newest state any more"),
});
const HeadShape = z
  .object({
    thread_id: z.string(),
    checkpoint_id: z.string().describe("The newest state from now on"),
    copied_from: z.string().describe("The state that it is a copy of, or the same"),
  })
  .meta({ ref: "ThreadHead" });

/** `/threads/:id/branches` and `…/head`: a thread's branches, and the one it continues from. */
export function branchRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.get(
    "/threads/:thread_id/branches",
    describe({
      tag: "Thread state",
      summary: "The branches of a thread, or the versions of a message, oldest first",
      answer: z.array(Branch),
      errors: { 404: "No such thread or message" },
    }),
    path(ThreadPath),
    query(BranchQuery),
    async (context) => {
      const services = servicesOf(context);
      const { session_id } = await requireSession(services.storage, context.req.valid("param").thread_id);
      const { message, limit, cursor } = context.req.valid("query");
      const branches = await readBranches(services, session_id, message);
      if (branches.length > cursor + limit) context.header("X-Pagination-Next", String(cursor + limit));
      return respondJson(context, branches.slice(cursor, cursor + limit));
    },
  );

  routes.put(
    "/threads/:thread_id/head",
    describe({
      tag: "Thread state",
      summary: "Let a thread go on from one of its states, without a run; what came after it stays as a branch",
      answer: HeadShape,
      errors: {
        404: "No such thread or checkpoint",
        409: "A run works, a question waits, or the thread has gone on meanwhile",
      },
    }),
    path(ThreadPath),
    jsonBody(HeadBody),
    async (context) => {
      const services = servicesOf(context);
      const { session_id } = await requireSession(services.storage, context.req.valid("param").thread_id);
      const { checkpoint_id, expected_checkpoint_id } = context.req.valid("json");
      const newest = await setHead(services, session_id, {
        checkpointId: checkpoint_id,
        expected: expected_checkpoint_id ?? undefined,
      });
      return respondJson(context, { thread_id: session_id, checkpoint_id: newest, copied_from: checkpoint_id });
    },
  );
  return routes;
}
