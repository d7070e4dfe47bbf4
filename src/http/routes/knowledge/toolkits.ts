import { Hono } from "hono";
import { z } from "zod";
import { enabledToolkits } from "../../../toolkits/enabled-toolkits.ts";
import { toolkits } from "../../../toolkits/index.ts";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment, SharedServices } from "@millrace/engine/http/environment";
import { respondJson, languageOf } from "@millrace/engine/http/responses/wire";

const ToolkitShape = z
  .object({
    name: z.string().describe("By which a run's `toolkits` names it"),
    title: z.string(),
    description: z.string().describe("In the language of Accept-Language: English or Chinese"),
    is_enabled: z.boolean().describe("Whether runs of this server may use it; MILLRACE_TOOLKITS decides"),
    is_always: z.boolean().describe("Whether every run has it, whatever it names"),
    identity: z.string().nullable().describe("The profile of a run that names this toolkit and no profile"),
    tools: z.array(z.string()),
    prompts: z.array(z.string()),
    collectors: z.array(z.string()),
  })
  .meta({ ref: "Toolkit" });

/** `/toolkits`: the toolkits a run may choose from, and their contents. */
export function toolkitRoutes({ config }: SharedServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  const enabled = new Set(enabledToolkits(config.toolkits));

  routes.get(
    "/toolkits",
    describe({ tag: "Tools", summary: "Every toolkit", answer: z.array(ToolkitShape) }),
    (context) => {
      const language = languageOf(context);
      return respondJson(
        context,
        toolkits.map((toolkit) => ({
          name: toolkit.name,
          title: toolkit.title[language],
          description: toolkit.description[language],
          is_enabled: enabled.has(toolkit),
          is_always: toolkit.enabled === "always",
          identity: toolkit.identity?.profile ?? null,
          tools: toolkit.tools.map(({ name }) => name),
          prompts: toolkit.templates.map(({ name }) => name),
          collectors: toolkit.collectors.map(({ name }) => name),
        })),
      );
    },
  );
  return routes;
}
