import { Hono } from "hono";
import { z } from "zod";
import { backgroundStatuses } from "../../../agents/background.ts";
import { listBackground } from "../../../agent-runs/background.ts";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { productServicesOf, type SharedProductServices } from "../../product-services.ts";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { Id, path } from "@millrace/engine/http/validate";

const BackgroundShape = z
  .object({
    thread_id: z.string().describe("The agent's own thread: its runs are followed, cancelled and answered there"),
    run_id: z.string().nullable(),
    name: z.string(),
    task: z.string(),
    status: z.enum(backgroundStatuses).describe("asking: what it waits for is in the approvals of its own thread"),
    begun_at: z.string(),
    report: z
      .object({
        success: z.boolean(),
        end_reason: z.string(),
        reply: z.string(),
        tokens: z.number().int(),
        cost: z.number().nullable(),
      })
      .nullable()
      .describe("Null until it has finished"),
    cleared: z.boolean().describe("Its caller has put it away"),
  })
  .meta({ ref: "BackgroundAgent" });

const AgentShape = z
  .object({
    name: z.string(),
    description: z.string().describe("What it is good for"),
    tools: z.array(z.string()).nullable().describe("Null: all that its caller has"),
    model: z.string().nullable().describe("Null: that of its caller"),
    include_rules: z.boolean().describe("Whether it is told the user's rules"),
    path: z.string().describe("Its file: relative to the workspace, or with ~ for the home of who runs the server"),
    prompt: z.string().describe("Its system prompt"),
  })
  .meta({ ref: "Agent" });

/** `/agents`: the agents available for delegation. `/threads/:id/agents`: a thread's background agents. */
export function agentRoutes({ agents: known }: SharedProductServices): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/agents",
    describe({ tag: "Tools", summary: "The agents that work can be handed to", answer: z.array(AgentShape) }),
    (context) =>
      respondJson(
        context,
        known
          .list()
          .map(({ name, description, tools, model, includeRules, path, prompt }): z.infer<typeof AgentShape> => ({
            name,
            description,
            tools: tools === null ? null : [...tools],
            model,
            include_rules: includeRules,
            path,
            prompt,
          })),
      ),
  );

  routes.get(
    "/threads/:thread_id/agents",
    describe({
      tag: "Threads",
      summary: "The agents that work in the background, and what came of them",
      answer: z.array(BackgroundShape),
      errors: { 404: "No such thread" },
    }),
    path(z.object({ thread_id: Id })),
    async (context) => {
      const { storage, runs } = productServicesOf(context);
      const session = await requireSession(storage, context.req.valid("param").thread_id);
      const { sessions, checkpointer } = storage;
      const agents = await listBackground({ sessions, checkpointer, runs }, session);
      return respondJson(
        context,
        agents.map(({ session_id, ...agent }): z.infer<typeof BackgroundShape> => ({
          thread_id: session_id,
          ...agent,
        })),
      );
    },
  );
  return routes;
}
