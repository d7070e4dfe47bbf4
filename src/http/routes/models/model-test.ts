import { Hono } from "hono";
import { z } from "zod";
import { userText } from "@millrace/engine/errors/error-texts";
import type { Language } from "@millrace/engine/language";
import { adviceOf, errorCodes } from "@millrace/engine/errors/errors";
import { connectionKinds, testConnection, type ConnectionVerdict } from "@millrace/models/resilience/connection-test";
import { ModelName } from "@millrace/models/registry/model-profile";
import { describe } from "@millrace/engine/http/describe";
import { type HttpApp, type HttpEnvironment, requireAdministration } from "@millrace/engine/http/environment";
import type { SharedProductServices } from "../../product-services.ts";
import { respondJson, languageOf } from "@millrace/engine/http/responses/wire";
import { path } from "@millrace/engine/http/validate";

const ModelPath = z.object({ name: ModelName.describe("provider:name, encoded as a part of a path") });
const TestShape = z
  .object({
    ok: z.boolean(),
    kind: z.enum(connectionKinds),
    error_type: z.enum(errorCodes).nullable(),
    message: z.string().describe("In the language of Accept-Language: English or Chinese"),
    suggestion: z.string().nullable().describe("In the same language"),
    detail: z.string().nullable().describe("What went wrong, in English, with the server's own words"),
    milliseconds: z.number().int(),
    parameter_size: z.string().nullable().describe("Of a local model, such as 7.6B"),
    context_length: z.number().nullable().describe("Tokens, of a local model"),
    llm_last_verified_at: z.string().nullable(),
  })
  .meta({ ref: "ModelTest" });

const answers: Record<Language, string> = { en: "The model answers.", zh: "模型连接正常。" };

/** `POST /models/:name/test`: whether a model answers within 10 s, and if not, why. */
export function modelTestRoutes({ models }: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.post(
    "/models/:name/test",
    describe({
      tag: "Models",
      summary: "Test the connection to a model: one short question, 10 s",
      answer: TestShape,
      errors: { 403: "The caller may not test it" },
    }),
    path(ModelPath),
    async (context) => {
      requireAdministration(context);
      const { name } = context.req.valid("param");
      const verdict = await testConnection(models, name, { signal: context.req.raw.signal });
      const verifiedAt = models.verified()?.at(name, models.reach(name).provider) ?? null;
      return respondJson(context, { ...shapeOf(verdict, languageOf(context)), llm_last_verified_at: verifiedAt });
    },
  );
  return routes;
}

function shapeOf(
  verdict: ConnectionVerdict,
  language: Language,
): Omit<z.infer<typeof TestShape>, "llm_last_verified_at"> {
  const { kind, milliseconds } = verdict;
  if (verdict.kind === "ok") {
    const { parameterSize, contextLength } = verdict.facts;
    return {
      ok: true,
      kind,
      error_type: null,
      message: answers[language],
      suggestion: null,
      detail: null,
      milliseconds,
      parameter_size: parameterSize ?? null,
      context_length: contextLength ?? null,
    };
  }
  const { code, message: detail, suggestion } = verdict.error;
  const text = userText(code, language);
  return {
    ok: false,
    kind,
    error_type: code,
    message: text.message,
    // The error's own suggestion is in English.
    suggestion: adviceOf(verdict.error)?.[language] ?? (language === "en" ? suggestion : undefined) ?? text.suggestion,
    detail,
    milliseconds,
    parameter_size: null,
    context_length: null,
  };
}
