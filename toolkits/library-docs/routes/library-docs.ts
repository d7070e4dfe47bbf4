import { Hono } from "hono";
import { z } from "zod";
import { librariesKey, type LoadedLibraries } from "../libraries.ts";
import { describe } from "@millrace/engine/http/describe";
import {
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  requireAdministration,
} from "@millrace/engine/http/environment";
import { routeServicesOf } from "../../../src/toolkits/route-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { jsonBody, query } from "@millrace/engine/http/validate";

const Name = z
  .string()
  .max(200)
  .regex(/^[\w-][\w.-]*(?:\/[\w-][\w.-]*)?$/u, "a name such as library or user/library")
  .describe("`library`, or `user/library`");
const Named = z.object({ name: Name });
const Restriction = z.object({
  name: Name.optional(),
  content: z.enum(["true", "false"]).default("false").describe("With the texts, or with the paths alone"),
});
const Repository = z.object({ url: z.string().max(2000).nullable().describe("By https; null is the default") });
const LibrariesShape = z
  .object({
    repository: z.string(),
    is_cloned: z.boolean(),
    libraries: z.array(z.string()).describe("As user/library"),
    documents: z.array(z.object({ library: z.string(), path: z.string(), content: z.string().optional() })),
    warnings: z.array(z.object({ file: z.string(), problem: z.string() })),
  })
  .meta({ ref: "LibraryDocs" });
const errors = { 403: "The caller may not change it", 404: "No such library" };

/** `/library-docs`: library documentation for models. */
export function libraryDocsRoutes(): HttpApp {
  const librariesOf = (context: HttpContext) => routeServicesOf(context).toolkitServices.get(librariesKey);
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/library-docs",
    describe({ tag: "Prompts", summary: "The libraries of the project, and their documents", answer: LibrariesShape }),
    query(Restriction),
    (context) => {
      const { name, content } = context.req.valid("query");
      return respondJson(context, shapeOf(librariesOf(context).load(name), content === "true"));
    },
  );
  routes.post(
    "/library-docs",
    describe({
      tag: "Prompts",
      summary: "Add a library; the first time the repository is cloned",
      answer: LibrariesShape,
      errors: { ...errors, 409: "Several libraries have this name" },
    }),
    jsonBody(Named),
    async (context) => {
      requireAdministration(context);
      const { name } = context.req.valid("json");
      return respondJson(context, shapeOf(await librariesOf(context).add(name, context.req.raw.signal)));
    },
  );
  routes.delete(
    "/library-docs",
    describe({ tag: "Prompts", summary: "Remove a library", answer: LibrariesShape, errors }),
    query(Named),
    async (context) => {
      requireAdministration(context);
      return respondJson(context, shapeOf(await librariesOf(context).remove(context.req.valid("query").name)));
    },
  );
  routes.post(
    "/library-docs/refresh",
    describe({ tag: "Prompts", summary: "Clone the repository again", answer: LibrariesShape, errors }),
    async (context) => {
      requireAdministration(context);
      return respondJson(context, shapeOf(await librariesOf(context).refresh(context.req.raw.signal)));
    },
  );
  routes.put(
    "/library-docs/repository",
    describe({
      tag: "Prompts",
      summary: "Choose the repository that is cloned from now on",
      answer: LibrariesShape,
      errors,
    }),
    jsonBody(Repository),
    async (context) => {
      requireAdministration(context);
      return respondJson(context, shapeOf(await librariesOf(context).setRepository(context.req.valid("json").url)));
    },
  );
  return routes;
}

function shapeOf({ documents, problems, libraries, ...facts }: LoadedLibraries, withText = false) {
  return {
    ...facts,
    libraries: [...libraries],
    documents: documents.map(({ library, path, text }) => ({ library, path, ...(withText ? { content: text } : {}) })),
    warnings: [...problems],
  } satisfies z.infer<typeof LibrariesShape>;
}
