import { Hono } from "hono";
import { z } from "zod";
import { copySession, forkSession } from "../../../sessions/state/fork.ts";
import { rerunRequest } from "../../../sessions/state/run-input.ts";
import { readValues, requireSession } from "../../../sessions/sessions.ts";
import { StoredMessage } from "../../../sessions/messages/stored-message.ts";
import { SessionName } from "../../../sessions/messages/conversation.ts";
import { describe } from "../../describe.ts";
import { type HttpApp, type HttpEnvironment, servicesOf, type SharedServices } from "../../environment.ts";
import { respondJson } from "../../responses/wire.ts";
import { RunBody } from "../../requests/run-request.ts";
import { startRunFor, toWireRun } from "../../requests/runs.ts";
import { RunShape, ThreadShape } from "../../responses/shapes.ts";
import { toThread } from "../../requests/thread.ts";
import { Id, jsonBody, path } from "../../validate.ts";
import { truncate } from "../../../sessions/state/edit-messages.ts";
import { pruneSessions } from "../../../sessions/state/prune.ts";

const ThreadPath = z.object({ thread_id: Id });
const MessagePath = ThreadPath.extend({ message_id: z.string().min(1).max(200) });
const ForkBody = z.object({
  message_id: z.string().min(1).max(200).nullish().describe("The last message of the copy; without it, all of them"),
  name: SessionName.nullish(),
});
/** What a client may change of the last run's request. */
const RerunBody = RunBody.pick({
  context: true,
  metadata: true,
  stream_mode: true,
  stream_subgraphs: true,
  stream_resumable: true,
}).extend({ content: StoredMessage.shape.content.nullish().describe("What is said instead; without it, the same") });

/** `/threads/:id/fork` and `…/messages/:id/rerun`: continues differently from a message, in a copy or in place. */
export function forkRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.post(
    "/threads/:thread_id/fork",
    describe({
      tag: "Threads",
      summary: "Copy a thread up to a message and including it",
      answer: ThreadShape,
      errors: { 404: "No such thread or message" },
    }),
    path(ThreadPath),
    jsonBody(ForkBody),
    async (context) => {
      const services = servicesOf(context);
      const { thread_id } = context.req.valid("param");
      const { message_id, name } = context.req.valid("json");
      const metadata = name ? { name } : {};
      const fork = message_id
        ? await forkSession(services, thread_id, { messageId: message_id, metadata })
        : await copySession(services, thread_id, metadata);
      return respondJson(context, toThread(fork, await readValues(services.storage, fork.session_id)));
    },
  );

  routes.post(
    "/threads/:thread_id/messages/:message_id/rerun",
    describe({
      tag: "Messages",
      summary: "Say a message anew, and what follows with it; answers with the run",
      answer: RunShape,
      setsPositionHeader: true,
      headers: ["Idempotency-Key"],
      errors: {
        404: "No such thread or message",
        409: "The user said nothing before it, or its state was pruned",
        422: "The thread is busy",
        429: "Too many runs wait; Retry-After says when to come back",
      },
    }),
    path(MessagePath),
    jsonBody(RerunBody),
    async (context) => {
      const services = servicesOf(context);
      const { thread_id, message_id } = context.req.valid("param");
      const sent = context.req.valid("json");
      const { content, ...body } = sent;
      const session = await requireSession(services.storage, thread_id);
      const run = await startRunFor(services, context, session, {
        sent: { rerun: message_id, ...sent },
        body: async () => {
          const { context: known, ...rerun } = await rerunRequest(services, session, message_id, content ?? undefined);
          return { ...body, ...rerun, context: { ...known, ...body.context } };
        },
      });
      context.header("Content-Location", `/threads/${run.session_id}/runs/${run.run_id}`);
      return respondJson(context, toWireRun(run));
    },
  );
  return routes;
}

const flag = z.boolean().nullish();
const Truncate = z.object({
  runs: flag,
  threads: flag,
  assistants: flag,
  checkpointer: flag,
  store: flag,
  crons: flag,
});
const Ok = z.object({ ok: z.literal(true) });

/**
 * `/internal/truncate`: deletes all data of the caller, kind by kind, for clients' test suites. Only with a setting, so
 * that it cannot be called by mistake.
 */
export function truncateRoutes(services: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  if (!services.config.allowTruncate) return routes;
  routes.post(
    "/internal/truncate",
    describe({
      tag: "Meta",
      summary: "Remove everything of some kinds; only under MILLRACE_ALLOW_TRUNCATE",
      answer: Ok,
      errors: { 403: "`store` by a user of auth.path: the items of all users are in one" },
    }),
    jsonBody(Truncate),
    async (context) => {
      const services = servicesOf(context);
      const { runs, threads, assistants, checkpointer, store, crons } = context.req.valid("json");
      await truncate(services, {
        runs: runs ?? false,
        assistants: assistants ?? false,
        threads: threads ?? false,
        checkpointer: checkpointer ?? false,
        store: store ?? false,
      });
      if (crons === true) await services.crons.clear();
      return context.json({ ok: true });
    },
  );
  return routes;
}

const Prune = z.object({
  thread_ids: z.array(Id).max(1_000),
  strategy: z
    .enum(["delete", "keep_latest"])
    .nullish()
    .describe("`delete` (default) removes the threads; `keep_latest` removes all their states but the newest ones"),
});
const Pruned = z.object({ pruned_count: z.number().int() });

/** `/threads/prune`: frees the storage of many threads while the server runs. */
export function maintenanceRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.post(
    "/threads/prune",
    describe({ tag: "Threads", summary: "Delete threads, or their former states", answer: Pruned }),
    jsonBody(Prune),
    async (context) => {
      const services = servicesOf(context);
      const { thread_ids: ids, strategy } = context.req.valid("json");
      const count = await pruneSessions(services, { ids, strategy: strategy ?? "delete" });
      return context.json({ pruned_count: count });
    },
  );
  return routes;
}
