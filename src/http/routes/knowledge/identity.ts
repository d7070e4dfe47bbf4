import { Hono } from "hono";
import { z } from "zod";
import { describe } from "@millrace/engine/http/describe";
import { type HttpApp, type HttpEnvironment, requireAdministration } from "@millrace/engine/http/environment";
import type { IdentityManager } from "../../../prompts/identity/identity-manager.ts";
import type { SharedProductServices } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { PromptProblemShape, PromptSourceShape, PromptVerdictShape } from "@millrace/engine/http/responses/shapes";
import { valuesOfIdentity } from "../../thread-values.ts";
import { Id, jsonBody, query } from "@millrace/engine/http/validate";
import { EtagShape, requireUnchanged, withTag } from "./prompt-tags.ts";

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
  .object({
    ...change,
    values: z.record(z.string(), z.unknown()).optional().describe("Values to fill it with"),
    thread_id: Id.optional().describe("Fills it with the values that the identity last had in this thread"),
  })
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
    etag: EtagShape,
  })
  .meta({ ref: "Identity" });
const ProfilesShape = z.array(
  z
    .object({
      profile: z.string(),
      title: z.object({ en: z.string(), zh: z.string() }),
      description: z.string(),
      source: PromptSourceShape,
    })
    .meta({ ref: "IdentityProfile" }),
);
const errors = {
  403: "The caller may not change it",
  412: "The identity is another one than If-Match says",
  507: "The disk is full",
};

/** `/identity`: the assistant's identity per profile. */
export function identityRoutes({ prompts: { identities } }: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  const Profile = z.enum(identities.profiles());
  const IdentityQuery = z.object({ profile: Profile.default("general").describe("Whose identity") });
  routes.get(
    "/identity",
    describe({ tag: "Prompts", summary: "Get an identity, unfilled", answer: IdentityShape }),
    query(IdentityQuery),
    (context) => respondJson(context, withTag(context, identities.full(context.req.valid("query").profile))),
  );

  routes.get(
    "/identity/profiles",
    describe({ tag: "Prompts", summary: "List the profiles that have an identity", answer: ProfilesShape }),
    (context) => respondJson(context, identities.list()),
  );

  routes.put(
    "/identity",
    describe({
      tag: "Prompts",
      summary: "Change an identity from the next turn on, with If-Match if it is as that says; what is left out stays",
      headers: ["If-Match"],
      answer: IdentityShape,
      errors,
    }),
    query(IdentityQuery),
    jsonBody(IdentityChange),
    (context) => {
      requireAdministration(context);
      const { profile } = context.req.valid("query");
      requireUnchanged(context, identities.full(profile));
      const saved = identities.save(profile, context.req.valid("json"), new Date());
      return respondJson(context, withTag(context, saved));
    },
  );

  routes.delete(
    "/identity",
    describe({
      tag: "Prompts",
      summary: "Go back to the built-in identity; with If-Match, if the present one is as that says",
      headers: ["If-Match"],
      answer: IdentityShape,
      errors,
    }),
    query(IdentityQuery),
    (context) => {
      requireAdministration(context);
      const { profile } = context.req.valid("query");
      requireUnchanged(context, identities.full(profile));
      return respondJson(context, withTag(context, identities.reset(profile)));
    },
  );

  validationRoute(routes, identities, IdentityQuery);
  return routes;
}

function validationRoute(
  routes: HttpApp,
  identities: IdentityManager,
  IdentityQuery: z.ZodObject<{ profile: z.ZodDefault<z.ZodEnum<Record<string, string>>> }>,
): void {
  routes.post(
    "/identity/validate",
    describe({
      tag: "Prompts",
      summary: "Check a change of an identity and fill it, without saving",
      answer: PromptVerdictShape,
      errors: { 404: "No such thread" },
    }),
    query(IdentityQuery),
    jsonBody(IdentityCheck),
    async (context) => {
      const { profile } = context.req.valid("query");
      const { values: given, thread_id, ...wanted } = context.req.valid("json");
      const variables = wanted.variables ?? identities.full(profile).variables;
      const values = thread_id === undefined ? null : await valuesOfIdentity(context, thread_id, variables);
      const filled = values === null ? given : { ...values, ...given };
      return respondJson(context, { ...identities.validate(profile, wanted, filled), values });
    },
  );
}
