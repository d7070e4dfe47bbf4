import { Hono } from "hono";
import { z } from "zod";
import { describe } from "@millrace/engine/http/describe";
import { type HttpApp, type HttpEnvironment, requireAdministration } from "@millrace/engine/http/environment";
import type { SharedProductServices } from "../../product-services.ts";
import { answerJson } from "@millrace/engine/http/answers/wire";
import { PromptProblemShape, PromptSourceShape, PromptVerdictShape } from "@millrace/engine/http/answers/shapes";
import { jsonBody, query } from "@millrace/engine/http/validate";

const Names = z.array(z.string().max(200)).max(100);
const change = {
  name: z.string().max(200).optional(),
  description: z.string().max(2000).optional(),
  content: z.string().max(1_000_000).optional().describe("English; `{name}` stands for a variable"),
  variables: Names.optional().describe("All variables that the text may use"),
  required_variables: Names.optional().describe("Those that should always have a value"),
};
const IdentityChange = z.object(change).meta({ ref: "IdentityChange" });
const IdentityCheck = z
  .object({ ...change, values: z.record(z.string(), z.unknown()).optional().describe("Values to fill it with") })
  .meta({ ref: "IdentityCheck" });
const IdentityShape = z
  .object({
    version: z.string(),
    profile: z.string(),
    name: z.string(),
    description: z.string(),
    content: z.string(),
    default_content: z.string(),
    variables: z.array(z.string()),
    required_variables: z.array(z.string()),
    source: PromptSourceShape,
    problems: z.array(PromptProblemShape),
    metadata: z.object({
      created_at: z.string().nullable(),
      updated_at: z.string().nullable(),
      is_custom: z.boolean(),
    }),
  })
  .meta({ ref: "Identity" });
const errors = { 403: "The caller may not change it", 507: "The disk is full" };

/** `/identity`: the assistant's identity per profile. */
export function identityRoutes({ prompts: { identities } }: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  const Profile = z.enum(identities.profiles());
  const IdentityQuery = z.object({ profile: Profile.default("general").describe("Whose identity") });
  routes.get(
    "/identity",
    describe({ tag: "Prompts", summary: "Get an identity, unfilled", answer: IdentityShape }),
    query(IdentityQuery),
    (context) => answerJson(context, identities.full(context.req.valid("query").profile)),
  );

  routes.put(
    "/identity",
    describe({
      tag: "Prompts",
      summary: "Change an identity from the next turn on; what is left out stays",
      answer: IdentityShape,
      errors,
    }),
    query(IdentityQuery),
    jsonBody(IdentityChange),
    (context) => {
      requireAdministration(context);
      const { profile } = context.req.valid("query");
      return answerJson(context, identities.save(profile, context.req.valid("json"), new Date()));
    },
  );

  routes.delete(
    "/identity",
    describe({ tag: "Prompts", summary: "Go back to the built-in identity", answer: IdentityShape, errors }),
    query(IdentityQuery),
    (context) => {
      requireAdministration(context);
      return answerJson(context, identities.reset(context.req.valid("query").profile));
    },
  );

  routes.post(
    "/identity/validate",
    describe({
      tag: "Prompts",
      summary: "Check a change of an identity and fill it, without saving",
      answer: PromptVerdictShape,
    }),
    query(IdentityQuery),
    jsonBody(IdentityCheck),
    (context) => {
      const { values, ...wanted } = context.req.valid("json");
      return answerJson(context, identities.validate(context.req.valid("query").profile, wanted, values));
    },
  );
  return routes;
}
