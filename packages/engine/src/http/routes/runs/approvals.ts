import { setImmediate as nextTurn } from "node:timers/promises";
import { Hono } from "hono";
import { z } from "zod";
import { parentSessionKey } from "../../../runs/remote-stops.ts";
import {
  answerApproval,
  expiryOf,
  listApprovals,
  type ApprovalServices,
} from "../../../sessions/questions/approvals.ts";
import { ApprovalDecision, readQuestion, type Question } from "../../../sessions/questions/questions.ts";
import { messagesIn, nameOf } from "../../../sessions/messages/conversation.ts";
import { readValues, requireSession } from "../../../sessions/sessions.ts";
import { Grant, JsonObject, type Approval } from "../../../storage/records.ts";
import { CallEffectShape } from "../../responses/call-effect.ts";
import { describe } from "../../describe.ts";
import {
  servicesOf,
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  type HttpServices,
} from "../../environment.ts";
import { notFound } from "../../errors.ts";
import { respondJson, languageOf, namedLanguage } from "../../responses/wire.ts";
import { questionText } from "../../requests/thread.ts";
import { Id, jsonBody, path, query } from "../../validate.ts";

const ThreadPath = z.object({ thread_id: Id });
const ApprovalPath = ThreadPath.extend({ interrupt_id: z.string().min(1).max(200) });
const GrantPath = ThreadPath.extend({ grant_id: Id });

const ApprovalShape = z
  .object({
    id: z.string(),
    thread_id: z.string().describe("Where it was asked: the thread itself, or that of an agent in the background"),
    kind: z.string(),
    tool: z.string().nullable(),
    args: JsonObject.nullable(),
    question: z
      .string()
      .nullable()
      .describe("In the language of Accept-Language: English or Chinese; without one, in that of the user's words"),
    allowed_decisions: z.array(z.string()),
    may_remember: z.boolean(),
    hash: z
      .string()
      .nullable()
      .describe("What a yes stands for: tool, arguments, workspace and what the call would do"),
    asked_at: z.string(),
    expires_at: z.string().nullable(),
    task_id: z.string(),
    effect: CallEffectShape.nullable().describe("What the call would do if it ran now; null where that cannot be said"),
    value: z.unknown().describe("The interrupt as the graph raised it"),
  })
  .meta({ ref: "Approval" });
const AllQuery = z.object({
  status: z.enum(["pending", "answered", "stale"]).default("pending"),
  thread_id: Id.optional(),
  graph_id: z.string().max(500).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(50),
  cursor: z.string().max(200).optional().describe("X-Pagination-Next of the page before"),
});
const ApprovalOfAnyShape = ApprovalShape.extend({
  status: z.enum(["pending", "answered", "stale"]).describe("stale: the thread has moved on without an answer"),
  decided_by: z.enum(["person", "timeout"]).nullable(),
  decided_at: z.string().nullable(),
  run_id: z.string().nullable().describe("The run that carries the answer"),
  thread: z
    .object({
      name: z.string(),
      graph_id: z.string().nullable(),
      parent: z.string().nullable().describe("The thread whose agent in the background asks"),
    })
    .nullable(),
}).meta({ ref: "ApprovalOfAnyThread" });
const AnsweredShape = z
  .object({
    id: z.string(),
    status: z.literal("answered"),
    repeated: z.boolean().describe("It had been answered before; nothing was changed"),
    decision: z.unknown(),
    decided_by: z.enum(["person", "timeout"]).nullable(),
    decided_at: z.string().nullable(),
    run_id: z.string().nullable(),
  })
  .meta({ ref: "AnsweredApproval" });
const GrantShape = Grant.omit({ session_id: true }).meta({ ref: "Grant" });
const tag = "Approvals";
const unknownThread = { 404: "No such thread" };

/** `/threads/:id/approvals` and `/grants`: pending questions, answered one by one, and remembered approvals. */
export function approvalRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  overviewRoute(routes);
  questionRoutes(routes);
  grantRoutes(routes);
  return routes;
}

function approvalServices(context: HttpContext): ApprovalServices {
  const { storage, runs, config } = servicesOf(context);
  return { storage, runs, timeoutHours: config.approvalTimeoutHours };
}

function overviewRoute(routes: HttpApp): void {
  routes.get(
    "/approvals",
    describe({
      tag,
      summary: "What waits for an answer in all threads, oldest first; or what was answered, newest first",
      answer: z.array(ApprovalOfAnyShape),
    }),
    query(AllQuery),
    async (context) => {
      const { status, thread_id: session_id, ...page } = context.req.valid("query");
      const { overview, storage } = servicesOf(context);
      const { rows, next } = await overview.approvals({ ...page, session_id, state: status });
      const threads = await threadsOf(storage, rows);
      if (next !== null) context.header("X-Pagination-Next", next);
      const answers = [];
      for (const approval of rows) {
        answers.push({
          ...(await toWireApproval(approval, context)),
          status: approval.state,
          decided_by: approval.decided_by,
          decided_at: approval.decided_at,
          run_id: approval.run_id,
          thread: threads.get(approval.session_id) ?? null,
        });
      }
      return respondJson(context, answers);
    },
  );
}

function questionRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/approvals",
    describe({
      tag,
      summary: "Everything that waits for an answer, also of the thread's agents in the background",
      answer: z.array(ApprovalShape),
      errors: unknownThread,
    }),
    path(ThreadPath),
    async (context) => {
      const services = approvalServices(context);
      const waiting = await listApprovals(services, context.req.valid("param").thread_id);
      const answers = [];
      for (const approval of waiting) answers.push(await toWireApproval(approval, context));
      return respondJson(context, answers);
    },
  );

  routes.post(
    "/threads/:thread_id/approvals/:interrupt_id",
    describe({
      tag,
      summary: "Answer one question; a second answer changes nothing and tells the first",
      answer: AnsweredShape,
      errors: { 404: "No such thread or question", 409: "The thread has moved on, or the hash is not the question's" },
    }),
    path(ApprovalPath),
    jsonBody(ApprovalDecision),
    async (context) => {
      const { thread_id, interrupt_id } = context.req.valid("param");
      const services = approvalServices(context);
      const { approval, repeated } = await answerApproval(services, thread_id, interrupt_id, context.req.valid("json"));
      const { decision, decided_by, decided_at, run_id } = approval;
      return respondJson(context, {
        id: approval.interrupt_id,
        status: "answered",
        repeated,
        decision,
        decided_by,
        decided_at,
        run_id,
      });
    },
  );
}

/** The threads of these questions, by id. */
async function threadsOf(
  storage: HttpServices["storage"],
  rows: readonly Approval[],
): Promise<Map<string, z.infer<typeof ApprovalOfAnyShape>["thread"]>> {
  const threads = new Map<string, z.infer<typeof ApprovalOfAnyShape>["thread"]>();
  for (const id of new Set(rows.map(({ session_id }) => session_id))) {
    const session = await storage.sessions.get(id);
    if (session === undefined) continue;
    const { graph_id, [parentSessionKey]: parent } = session.metadata;
    const isNamed = nameOf(session, []).source !== "default";
    const messages = isNamed ? [] : messagesIn(await readValues(storage, id));
    threads.set(id, {
      name: nameOf(session, messages).name,
      graph_id: typeof graph_id === "string" ? graph_id : null,
      parent: typeof parent === "string" ? parent : null,
    });
    // A long thread is read without a pause; let others run first.
    await nextTurn();
  }
  return threads;
}

function grantRoutes(routes: HttpApp): void {
  routes.get(
    "/threads/:thread_id/grants",
    describe({ tag, summary: "The yeses a thread remembers", answer: z.array(GrantShape), errors: unknownThread }),
    path(ThreadPath),
    async (context) => {
      const { storage } = servicesOf(context);
      const session = await requireSession(storage, context.req.valid("param").thread_id);
      const grants = await storage.approvals.grants(session.session_id);
      return respondJson(context, grants.map(toWireGrant));
    },
  );

  routes.delete(
    "/threads/:thread_id/grants/:grant_id",
    describe({ tag, summary: "Forget a yes", empty: true, errors: { 404: "No such thread or grant" } }),
    path(GrantPath),
    async (context) => {
      const { storage } = servicesOf(context);
      const { thread_id, grant_id } = context.req.valid("param");
      const session = await requireSession(storage, thread_id);
      const revoked = await storage.approvals.revoke(session.session_id, grant_id);
      if (!revoked) throw notFound(`No grant ${grant_id} in this thread`);
      return context.body(null, 204);
    },
  );
}

function toWireGrant({ grant_id, tool, path_pattern, interrupt_id, created_at }: Grant): z.infer<typeof GrantShape> {
  return { grant_id, tool, path_pattern, interrupt_id, created_at };
}

async function toWireApproval(approval: Approval, context: HttpContext): Promise<z.infer<typeof ApprovalShape>> {
  const services = approvalServices(context);
  const question = readQuestion(approval.value);
  const [action] = question.actions;
  return {
    id: approval.interrupt_id,
    thread_id: approval.session_id,
    kind: question.kind,
    tool: action?.name ?? null,
    args: action?.args ?? null,
    question: questionText(question, namedLanguage(context)),
    allowed_decisions: [...question.takes],
    may_remember: question.mayRemember,
    hash: question.hash,
    asked_at: approval.asked_at,
    expires_at: expiryOf(approval, services) ?? null,
    task_id: approval.task_id,
    effect: approval.state === "pending" ? await effectOf(approval, question, context) : null,
    value: approval.value,
  };
}

/** The effect of a waiting call, if the question is about a single tool call. */
async function effectOf(
  { session_id }: Approval,
  { actions, operation }: Question,
  context: HttpContext,
): Promise<z.infer<typeof CallEffectShape> | null> {
  const { lookAtEffect } = servicesOf(context);
  const [action] = actions;
  if (lookAtEffect === undefined || action === undefined || actions.length > 1) return null;
  const call = { session_id, tool: action.name, args: action.args, operation };
  return await lookAtEffect(call, languageOf(context), context.req.raw.signal);
}
