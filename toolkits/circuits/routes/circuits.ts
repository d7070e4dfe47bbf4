import { Hono } from "hono";
import { z } from "zod";
import { isAppError } from "@millrace/engine/errors/errors";
import { respondJson, languageOf } from "@millrace/engine/http/responses/wire";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpEnvironment } from "@millrace/engine/http/environment";
import { Id, jsonBody, path, query } from "@millrace/engine/http/validate";
import type { RouteServices } from "../../../src/toolkits/route-services.ts";
import { readWorkspaceText } from "../../../src/context/workspace/workspace-text.ts";
import { listCircuits } from "../netlist/circuit-list.ts";
import { besideCircuit } from "../tools/deck-file.ts";
import { ParsedNetlist, parseNetlist } from "../netlist/parse-netlist.ts";
import { hashOf } from "../iterations/kept-netlist.ts";
import { assessed, goalsOf } from "../tools/circuit-goals.ts";
import { CircuitPath, circuitServices, refused, requireTool } from "./circuit-services.ts";
import { GoalShape, toWireGoal } from "./iterations.ts";

const CircuitList = z.object({
  circuits: z.array(
    z
      .object({
        name: z.string().describe("The file's path in the workspace"),
        title: z.string(),
        size: z.number().int(),
        modified_at: z.string(),
        simulated_at: z.string().nullable().describe("When the result beside it was written"),
      })
      .meta({ ref: "Circuit" }),
  ),
  more: z.boolean().describe("Whether there are others: 500 are listed"),
});
const CircuitShape = z
  .object({
    name: z.string(),
    text: z.string(),
    hash: z.string().describe("SHA-256 of the text, as iterations have it"),
    modified_at: z.string(),
    netlist: ParsedNetlist,
    goals: z.array(GoalShape).describe("As they are written down now, before any simulation"),
    goals_problem: z.string().nullable().describe("Why the file of the goals cannot be read"),
  })
  .meta({ ref: "CircuitDetails" });
const NetlistText = z.object({ text: z.string().max(1_000_000) }).meta({ ref: "NetlistText" });
const tag = "Circuits";

/** `/circuits`: the netlists of the workspace, and what stands in them. */
export function circuitRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  listRoute(routes);
  netlistRoutes(routes);
  return routes;
}

function listRoute(routes: HttpApp): void {
  routes.get(
    "/circuits",
    describe({ tag, summary: "The circuits of the workspace", answer: CircuitList, errors: refused }),
    query(z.object({ thread_id: Id.optional().describe("Only those that were changed or simulated in it") })),
    async (context) => {
      const services = circuitServices(context);
      requireTool(services, "list_files");
      const files = { workspace: services.config.workspace, repeated: false, signal: context.req.raw.signal };
      const { thread_id } = context.req.valid("query");
      const touched = thread_id === undefined ? undefined : await touchedIn(thread_id, services);
      return respondJson(context, await listCircuits(files, touched));
    },
  );
}

function netlistRoutes(routes: HttpApp): void {
  routes.post(
    "/circuits/parse",
    describe({
      tag,
      summary: "The parts, nets and directives of a netlist, and what is wrong with its lines; nothing is simulated",
      answer: ParsedNetlist,
      errors: refused,
    }),
    jsonBody(NetlistText),
    (context) => {
      circuitServices(context);
      return respondJson(context, parseNetlist(context.req.valid("json").text, languageOf(context)));
    },
  );
  routes.get(
    "/circuits/:name",
    describe({
      tag,
      summary: "A circuit as it is now: its text, what stands in it, and its goals",
      answer: CircuitShape,
      errors: { ...refused, 404: "No such file" },
    }),
    path(CircuitPath),
    async (context) => {
      const { workspace } = circuitServices(context).config;
      const { name } = context.req.valid("param");
      const { signal } = context.req.raw;
      const { text, modified } = await readWorkspaceText(workspace, name, signal);
      const { goals, problem } = await goalsOf(name, { workspace, repeated: false, signal }).then(
        (found) => ({ goals: assessed(found, {}, {}), problem: null }),
        (error: unknown) => {
          if (!isAppError(error)) throw error;
          return { goals: [], problem: error.message };
        },
      );
      return respondJson(context, {
        name,
        text,
        hash: hashOf(text),
        modified_at: new Date(modified).toISOString(),
        netlist: parseNetlist(text, languageOf(context)),
        goals: goals.map(toWireGoal),
        goals_problem: problem,
      });
    },
  );
}

/** Operations of a thread that are looked at, the newest. */
const maxOperations = 1_000;

/** Whether a tool has worked on a circuit, or on its result, in a thread of the caller. */
async function touchedIn(session_id: string, { overview }: RouteServices): Promise<(circuit: string) => boolean> {
  const { rows } = await overview.operations({ session_id, limit: maxOperations });
  const paths = new Set(
    rows.flatMap(({ change }) => (change.kind === "move" ? [change.from, change.to] : [change.path])),
  );
  return (circuit) => paths.has(circuit) || paths.has(besideCircuit(circuit, "_sim.json"));
}
