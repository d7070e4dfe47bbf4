import { Hono } from "hono";
import { z } from "zod";
import { asksWhen, confirmationOf } from "../../../guardrails/rules/confirmation.ts";
import { AskedOperation, questionFor } from "@millrace/engine/sessions/questions/operation-questions";
import { JsonObject, EffectClass } from "@millrace/engine/storage/records";
import { parameterSchema } from "../../../tools/runtime/parameters.ts";
import { describeTool } from "../../../tools/runtime/registry.ts";
import type { Tool } from "../../../tools/runtime/tool.ts";
import { toolkits } from "../../../toolkits/index.ts";
import { toolkitOf } from "../../../toolkits/toolkit.ts";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf } from "../../product-services.ts";
import { answerJson, languageOf } from "@millrace/engine/http/answers/wire";
import { Id, jsonBody, path, submissionOf } from "@millrace/engine/http/validate";

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
  content: z.string().optional(),
  errorType: z.string().optional(),
  suggestion: z.string().optional().describe("What can be done about a failure, in English"),
});
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
const tag = "Tools";

/** `/tools`: what tools there are, and `/threads/:id/tools/:name/run`: one run by hand. */
export function toolRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();

  routes.get("/tools", describe({ tag, summary: "Every tool", answer: z.array(ToolShape) }), async (context) => {
    const { manual, mayAdminister } = productServicesOf(context);
    const tools = await manual.list(context.req.raw.signal, null);
    return answerJson(
      context,
      tools.map((tool) => ({ ...toWire(tool), statistics: (mayAdminister && manual.statistics(tool.name)) || null })),
    );
  });

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
        const { call_id, message_ids, result } = answer;
        return answerJson(context, { tool: name, call_id, message_ids, result });
      }
      const { operation, hash, has_changed } = answer;
      const known = AskedOperation.safeParse(operation);
      const question = known.success ? questionFor(known.data, languageOf(context)) : answer.question;
      return context.json(
        { tool: name, args: answer.args, question, operation, approved_hash: hash, has_changed },
        409,
      );
    },
  );
  return routes;
}

function toWire(tool: Tool): Omit<z.infer<typeof ToolShape>, "statistics"> {
  return {
    ...describeTool(tool),
    toolkit: toolkitOf(tool.name, toolkits)?.name ?? null,
    parameters: parameterSchema(tool),
    confirmation: tool.kinds?.map((operation) => ({ operation, asks: confirmationOf[operation] })) ?? null,
  };
}
