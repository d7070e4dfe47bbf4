import { Hono } from "hono";
import { z } from "zod";
import { asksWhen, confirmationOf } from "../../../guardrails/rules/needs-approval.ts";
import { OperationInQuestion, questionFor } from "@millrace/engine/sessions/questions/questions";
import { JsonObject, EffectClass } from "@millrace/engine/storage/records";
import { toolHistory } from "../../../tools/runtime/tool-history.ts";
import { type ToolResult, userMessageOf } from "../../../tools/runtime/result.ts";
import { CallShape } from "../runs/operations.ts";
import { parameterSchema } from "../../../tools/runtime/parameters.ts";
import { describeTool } from "../../../tools/runtime/registry.ts";
import { effectText, type CallEffect } from "../../../tools/runtime/call-effect.ts";
import type { Operation, Tool } from "../../../tools/runtime/tool.ts";
import type { ManualTools } from "../../../sessions/manual/manual-run.ts";
import type { Language } from "@millrace/engine/language";
import { CallEffectShape, type CallEffectAnswer, type LookAtEffect } from "@millrace/engine/http/responses/call-effect";
import { toolkits } from "../../../toolkits/index.ts";
import { toolkitOf } from "../../../toolkits/toolkit.ts";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf } from "../../product-services.ts";
import { respondJson, languageOf } from "@millrace/engine/http/responses/wire";
import { Id, jsonBody, path, query, submissionOf } from "@millrace/engine/http/validate";

const RunPath = z.object({ thread_id: Id, name: z.string().min(1).max(200) });
const RunBody = z
  .object({
    args: JsonObject.default({}),
    approved_hash: z.string().max(200).nullish().describe("The hash of the question that this request says yes to"),
  })
  .meta({ ref: "ToolRunCreate" });

const StatisticsShape = z.object({
  calls: z.number().int(),
  successes: z.number().int(),
  failures: z.number().int(),
  total_ms: z.number(),
  longest_ms: z.number(),
});
const ToolShape = z
  .object({
    name: z.string(),
    toolkit: z.string().nullable().describe("Whose it is, see GET /toolkits; null: not of the house"),
    description: z.string(),
    parameters: JsonObject.describe("JSON Schema"),
    effect: EffectClass.describe("What a second run of the same call may do"),
    timeout_seconds: z.number(),
    is_default: z.boolean().describe("Whether a run gets it without naming it"),
    confirmation: z
      .array(z.object({ operation: z.string(), asks: z.enum(asksWhen) }))
      .nullable()
      .describe("Kinds of work it may turn out to be, and when a person is asked; null: not known before the call"),
    example: z.object({ title: z.string(), body: z.string() }).nullable(),
    guideline: z.string().nullable(),
    statistics: StatisticsShape.nullable().describe("Since the start of the server, for who may see all of it"),
  })
  .meta({ ref: "Tool" });
const ResultShape = z.looseObject({
  success: z.boolean(),
  code: z.string(),
  message: z.string(),
  message_zh: z.string().optional().describe("The message for Chinese readers"),
  content: z.string().optional(),
  errorType: z.string().optional(),
  suggestion: z.string().optional().describe("What can be done about a failure, in English"),
});
const PreviewShape = CallEffectShape.extend({
  approved_hash: z.string().describe("Names exactly this; a run with it says yes to it"),
  asks: z.boolean().describe("Whether a person has to say yes before it runs"),
  question: z.string().nullable().describe("What a person is asked, in the language of Accept-Language"),
  refused: z.string().nullable().describe("Why a rule does not let it run at all"),
}).meta({ ref: "ToolPreview" });
const RanShape = z
  .object({
    tool: z.string(),
    call_id: z.string().nullable().describe("The call's name in the tool log; null for one that was not begun"),
    message_ids: z.array(z.string()).describe("The messages that tell the next turn of it; none where it cannot know"),
    result: ResultShape,
  })
  .meta({ ref: "ToolRun" });
const QuestionShape = z
  .object({
    tool: z.string(),
    args: JsonObject,
    question: z.string().describe("In the language of Accept-Language: English or Chinese"),
    operation: JsonObject,
    approved_hash: z.string().describe("Send the request again with this to say yes to exactly this"),
    has_changed: z.boolean().describe("The hash that was sent stands for something else than what would be done now"),
  })
  .meta({ ref: "ToolRunQuestion" });
const CallOfThreadShape = CallShape.omit({ result: true })
  .extend({ thread_id: z.string(), message: z.string().nullable().describe("The beginning of what came of it") })
  .meta({ ref: "ToolCallOfAnyThread" });
/** Threads that are looked through for the calls of a tool. */
const maxThreads = 20;
/** Characters of a message among others. */
const maxMessageLength = 300;
const tag = "Tools";

/** `/tools`: the available tools; `/threads/:id/tools/:name/run` and `/preview`: a manual call. */
export function toolRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.get("/tools", describe({ tag, summary: "Every tool", answer: z.array(ToolShape) }), async (context) => {
    const { manual, mayAdminister } = productServicesOf(context);
    const tools = await manual.list(context.req.raw.signal, null);
    return respondJson(
      context,
      tools.map((tool) => ({ ...toWire(tool), statistics: (mayAdminister && manual.statistics(tool.name)) || null })),
    );
  });

  callsRoute(routes);
  runRoute(routes);
  previewRoute(routes);
  return routes;
}

function callsRoute(routes: HttpApp): void {
  routes.get(
    "/tools/:name/calls",
    describe({
      tag,
      summary: `The last calls of a tool, newest first, in the ${maxThreads} threads that changed last`,
      answer: z.array(CallOfThreadShape),
    }),
    path(z.object({ name: RunPath.shape.name })),
    query(z.object({ limit: z.coerce.number().int().min(1).max(100).default(10) })),
    async (context) => {
      const { storage, runs } = productServicesOf(context);
      const { name } = context.req.valid("param");
      const newest = { limit: maxThreads, offset: 0, sort_by: "updated_at", sort_order: "desc" } as const;
      const { sessions } = await storage.sessions.search(newest);
      const found: z.infer<typeof CallOfThreadShape>[] = [];
      for (const { session_id: thread_id } of sessions) {
        const rows = (await storage.ledger.list(thread_id)).filter(({ tool }) => tool === name);
        if (rows.length === 0) continue;
        const [running] = await runs.list(thread_id, { limit: 1, offset: 0, status: "running" });
        const calls = toolHistory(rows, running?.run_id);
        found.push(...calls.map(({ result, ...call }) => ({ thread_id, ...call, message: messageIn(result) })));
      }
      found.sort((one, other) => (one.started_at < other.started_at ? 1 : -1));
      return respondJson(context, found.slice(0, context.req.valid("query").limit));
    },
  );
}

/** The result; for Chinese readers with a Chinese message if a failed tool has none of its own. */
function inLanguage(language: Language, result: ToolResult): ToolResult {
  if (language === "en" || result.success || result.message_zh !== undefined) return result;
  return { ...result, message_zh: `${userMessageOf(result, language)}（${result.message}）` };
}

function messageIn(result: unknown): string | null {
  const message = z.looseObject({ message: z.string() }).safeParse(result).data?.message;
  return message === undefined ? null : message.slice(0, maxMessageLength);
}

function runRoute(routes: HttpApp): void {
  routes.post(
    "/threads/:thread_id/tools/:name/run",
    describe({
      tag,
      summary: "Run one tool by hand; what a person must confirm is answered with 409 and a question in JSON",
      answer: RanShape,
      headers: ["Idempotency-Key"],
      errors: {
        404: "No such thread or tool",
        409: "A question in JSON, or the thread is busy or waits for an answer",
      },
      errorAnswers: { 409: QuestionShape },
    }),
    path(RunPath),
    jsonBody(RunBody),
    async (context) => {
      const { manual } = productServicesOf(context);
      const { thread_id, name } = context.req.valid("param");
      const { args, approved_hash } = context.req.valid("json");
      const submission = submissionOf(context, { name, args });
      const call = { tool: name, args, submission, approved_hash: approved_hash ?? undefined };
      const answer = await manual.run(thread_id, call, context.req.raw.signal);
      if (answer.kind === "ran") {
        const { call_id, message_ids } = answer;
        const result = inLanguage(languageOf(context), answer.result);
        return respondJson(context, { tool: name, call_id, message_ids, result });
      }
      const { operation, hash, has_changed } = answer;
      const question = questionIn(languageOf(context), operation, answer.question);
      return context.json(
        { tool: name, args: answer.args, question, operation, approved_hash: hash, has_changed },
        409,
      );
    },
  );
}

function previewRoute(routes: HttpApp): void {
  routes.post(
    "/threads/:thread_id/tools/:name/preview",
    describe({
      tag,
      summary: "What a call of a tool would do, and whether a person is asked first; nothing is done",
      answer: PreviewShape,
      errors: { 404: "No such thread or tool" },
    }),
    path(RunPath),
    jsonBody(RunBody.pick({ args: true }).meta({ ref: "ToolPreviewCreate" })),
    async (context) => {
      const { manual } = productServicesOf(context);
      const { thread_id, name } = context.req.valid("param");
      const call = { tool: name, args: context.req.valid("json").args };
      const { effect, hash, ruling } = await manual.preview(thread_id, call, context.req.raw.signal);
      const language = languageOf(context);
      return respondJson(context, {
        ...toWireEffect(effect, language),
        approved_hash: hash,
        asks: ruling.kind === "ask",
        question: ruling.kind === "ask" ? questionIn(language, effect.operation, ruling.question) : null,
        refused: ruling.kind === "refuse" ? ruling.reason : null,
      });
    },
  );
}

/** Computes the effects of waiting calls as the owner of these tools. */
export function effectsBy(manual: Pick<ManualTools, "effectOf">): LookAtEffect {
  return async ({ session_id, tool, args, operation }, language, signal) => {
    const known = OperationInQuestion.safeParse(operation).data;
    const effect = await manual.effectOf(session_id, { tool, args, operation: known }, signal);
    return effect === null ? null : toWireEffect(effect, language);
  };
}

function toWireEffect(effect: CallEffect, language: Language): CallEffectAnswer {
  const { kind, operation, paths, diff, command, undoable } = effect;
  return { kind, summary: effectText(effect, language), operation, paths, diff, command, undoable };
}

function questionIn(language: Language, operation: Operation, inEnglish: string): string {
  const known = OperationInQuestion.safeParse(operation).data;
  return known === undefined ? inEnglish : questionFor(known, language);
}

function toWire(tool: Tool): Omit<z.infer<typeof ToolShape>, "statistics"> {
  return {
    ...describeTool(tool),
    toolkit: toolkitOf(tool.name, toolkits)?.name ?? null,
    parameters: parameterSchema(tool),
    confirmation: tool.kinds?.map((operation) => ({ operation, asks: confirmationOf[operation] })) ?? null,
  };
}
