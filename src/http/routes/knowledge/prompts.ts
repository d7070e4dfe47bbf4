import { Hono } from "hono";
import { z } from "zod";
import { describe } from "@millrace/engine/http/describe";
import { type HttpApp, type HttpEnvironment, requireAdministration } from "@millrace/engine/http/environment";
import type { SharedProductServices } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { PromptProblemShape, PromptSourceShape, PromptVerdictShape } from "@millrace/engine/http/responses/shapes";
import { valuesOfPrompt } from "../../thread-values.ts";
import { Id, jsonBody, path, query } from "@millrace/engine/http/validate";
import { EtagShape, requireUnchanged, tagOfText, withTag } from "./prompt-tags.ts";

const PromptPath = z.object({ name: z.string().min(1).max(100).describe("As `GET /prompts` lists it") });
const PromptQuery = z.object({
  node: z.string().max(100).optional().describe("Only those that this node uses"),
  content: z.enum(["true", "false"]).default("false").describe("With the texts, as an editor needs them"),
});
const Content = z.string().max(1_000_000).describe("English; `{name}` stands for a variable");
const PromptSave = z.object({ content: Content }).meta({ ref: "PromptSave" });
const PromptCheck = z
  .object({
    content: Content.optional().describe("Left out: the text that is used now"),
    variables: z.record(z.string(), z.unknown()).optional().describe("Values to fill it with"),
    thread_id: Id.optional().describe("Fills it with the values that it last had in this thread"),
  })
  .meta({ ref: "PromptCheck" });

type PromptShapes = ReturnType<typeof promptShapes>;

function promptShapes(formats: readonly string[]) {
  const metadata = {
    name: z.string(),
    title: z.object({ en: z.string(), zh: z.string() }),
    description: z.string(),
    source: PromptSourceShape,
    editable: z.boolean(),
    format: z.enum(formats).nullable().describe("The output format that is appended"),
    nodes: z.array(z.string()).describe("The nodes of the workflow that use it"),
    variables: z.array(z.string()),
    required_variables: z.array(z.string()),
    problems: z.array(PromptProblemShape),
  };
  const texts = { content: z.string(), default_content: z.string(), etag: EtagShape };
  const ListedShape = z
    .object({ ...metadata, ...z.object(texts).partial().shape })
    .meta({ ref: "PromptMetadata", description: "The texts are there with `content=true`" });
  return { ListedShape, PromptShape: z.object({ ...metadata, ...texts }).meta({ ref: "Prompt" }) };
}

const Reloaded = z.object({ reloaded: z.number().int().describe("How many templates there are") });

const errors = { 404: "No such prompt" };
const changeErrors = {
  ...errors,
  403: "The prompt is fixed, or the caller may not change it",
  412: "The text is another one than If-Match says",
  507: "The disk is full",
};

/** `/prompts`: the templates, users' replacements, and validation of a text. */
export function promptRoutes(services: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  const shapes = promptShapes(services.prompts.templates.formats());
  readingRoutes(routes, services, shapes);
  changingRoutes(routes, services, shapes);
  return routes;
}

function readingRoutes(
  routes: HttpApp,
  { prompts: { templates } }: SharedProductServices,
  { ListedShape, PromptShape }: PromptShapes,
): void {
  routes.get(
    "/prompts",
    describe({ tag: "Prompts", summary: "List the prompt templates", answer: z.array(ListedShape) }),
    query(PromptQuery),
    (context) => {
      const { node, content } = context.req.valid("query");
      const names = node === undefined ? templates.names() : templates.namesOfNode(node);
      const whole = (name: string) => {
        const record = templates.get(name);
        return { ...record, etag: tagOfText(record) };
      };
      return respondJson(
        context,
        names.map((name) => (content === "true" ? whole(name) : templates.metadata(name))),
      );
    },
  );

  routes.get(
    "/prompts/:name",
    describe({ tag: "Prompts", summary: "Get a prompt, unfilled", answer: PromptShape, errors }),
    path(PromptPath),
    (context) => respondJson(context, withTag(context, templates.get(context.req.valid("param").name))),
  );

  routes.post(
    "/prompts/:name/validate",
    describe({
      tag: "Prompts",
      summary: "Check a text and fill it, without saving",
      answer: PromptVerdictShape,
      errors: { 404: "No such prompt or thread" },
    }),
    path(PromptPath),
    jsonBody(PromptCheck),
    async (context) => {
      const { name } = context.req.valid("param");
      const { content, variables, thread_id } = context.req.valid("json");
      const values = thread_id === undefined ? null : await valuesOfPrompt(context, thread_id, templates.get(name));
      const filled = values === null ? variables : { ...values, ...variables };
      const given = { ...(content !== undefined && { content }), ...(filled !== undefined && { variables: filled }) };
      return respondJson(context, { ...templates.validate(name, given), values });
    },
  );
}

function changingRoutes(
  routes: HttpApp,
  { prompts: { templates, identities } }: SharedProductServices,
  { PromptShape }: PromptShapes,
): void {
  routes.post(
    "/prompts/reload",
    describe({
      tag: "Prompts",
      summary: "Read every override again; a change of a file is also found by itself",
      answer: Reloaded,
      errors: { 403: changeErrors[403] },
    }),
    (context) => {
      requireAdministration(context);
      templates.reload();
      identities.reload();
      return context.json({ reloaded: templates.names().length });
    },
  );

  routes.put(
    "/prompts/:name",
    describe({
      tag: "Prompts",
      summary: "Override the text of a prompt from the next turn on; with If-Match, if it is as that says",
      headers: ["If-Match"],
      answer: PromptShape,
      errors: changeErrors,
    }),
    path(PromptPath),
    jsonBody(PromptSave),
    (context) => {
      requireAdministration(context);
      const { name } = context.req.valid("param");
      requireUnchanged(context, templates.get(name));
      return respondJson(context, withTag(context, templates.save(name, context.req.valid("json").content)));
    },
  );

  routes.delete(
    "/prompts/:name",
    describe({
      tag: "Prompts",
      summary: "Go back to the built-in text; with If-Match, if the present one is as that says",
      headers: ["If-Match"],
      answer: PromptShape,
      errors: changeErrors,
    }),
    path(PromptPath),
    (context) => {
      requireAdministration(context);
      const { name } = context.req.valid("param");
      requireUnchanged(context, templates.get(name));
      return respondJson(context, withTag(context, templates.reset(name)));
    },
  );
}
