import { Hono } from "hono";
import { z } from "zod";
import type { LoadedTools } from "../external-tools/tool-folders.ts";
import { externalToolsKey } from "../external-tools/tools-document.ts";
import { describe } from "@millrace/engine/http/describe";
import {
  type HttpApp,
  type HttpContext,
  type HttpEnvironment,
  requireAdministration,
} from "@millrace/engine/http/environment";
import { routeServicesOf } from "../../../src/toolkits/route-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";

const ExternalToolsShape = z
  .object({
    folders: z.array(z.string()).describe("The one that counts most first"),
    tools: z.array(
      z.object({
        name: z.string(),
        extension: z.string(),
        path: z.string().describe("Relative to the workspace, or with ~ for the home of who runs the server"),
        folder: z.string(),
        executable: z.boolean(),
        help: z.string(),
      }),
    ),
    warnings: z.array(z.object({ file: z.string(), problem: z.string() })),
  })
  .meta({ ref: "ExternalTools" });

/** `/external-tools`: the user's own programs as described to models. */
export function externalToolRoutes(): HttpApp {
  const load = async (context: HttpContext, force: boolean) => {
    const { signal } = context.req.raw;
    return shapeOf(await routeServicesOf(context).toolkitServices.get(externalToolsKey).load({ signal, force }));
  };
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/external-tools",
    describe({ tag: "Tools", summary: "The user's own programs, each with its help", answer: ExternalToolsShape }),
    async (context) => respondJson(context, await load(context, false)),
  );
  routes.post(
    "/external-tools/reload",
    describe({
      tag: "Tools",
      summary: "Look for the help of all programs again",
      answer: ExternalToolsShape,
      errors: { 403: "The caller may not change it" },
    }),
    async (context) => {
      requireAdministration(context);
      return respondJson(context, await load(context, true));
    },
  );
  return routes;
}

function shapeOf({ folders, tools, problems }: LoadedTools): z.infer<typeof ExternalToolsShape> {
  return { folders: [...folders], tools: [...tools], warnings: [...problems] };
}
