import { Hono } from "hono";
import { z } from "zod";
import { ruleScopes, type Rule } from "../../../user-rules/rule-folders.ts";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import type { SharedProductServices } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";

const RuleShape = z
  .object({
    path: z.string().describe("Relative to the workspace, or with ~ for the home of who runs the server"),
    scope: z.enum(ruleScopes).describe("Where two disagree, the rule of the project counts"),
    description: z.string(),
    globs: z.array(z.string()),
    always_apply: z.boolean(),
    holds: z
      .enum(["always", "for_files", "on_request"])
      .describe("always; when a file at hand fits a pattern; or only when the model reads it by itself"),
    content: z.string(),
  })
  .meta({ ref: "Rule" });
const RulesShape = z
  .object({
    rules: z.array(RuleShape),
    warnings: z.array(z.object({ file: z.string(), problem: z.string() })),
  })
  .meta({ ref: "Rules" });

/** `/rules`: the user's current rules and problems of their files. */
export function ruleRoutes({ rules }: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/rules",
    describe({ tag: "Prompts", summary: "The rules of the user, each with its file", answer: RulesShape }),
    (context) => {
      const loaded = rules.load();
      return respondJson(context, { rules: loaded.rules.map(shapeOf), warnings: loaded.warnings });
    },
  );
  return routes;
}

function shapeOf({ path, scope, description, globs, alwaysApply, isIndex, text }: Rule): z.infer<typeof RuleShape> {
  const holds = alwaysApply || isIndex ? "always" : globs.length > 0 ? "for_files" : "on_request";
  return { path, scope, description, globs: [...globs], always_apply: alwaysApply, holds, content: text };
}
