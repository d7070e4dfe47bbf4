import { Hono } from "hono";
import { z } from "zod";
import { respondJson } from "@millrace/engine/http/responses/wire";
import { describe } from "@millrace/engine/http/describe";
import type { HttpApp, HttpContext, HttpEnvironment } from "@millrace/engine/http/environment";
import { Id, path, query } from "@millrace/engine/http/validate";
import type { RouteServices } from "../../../src/toolkits/route-services.ts";
import { locate } from "../../../src/tools/workspace/workspace-path.ts";
import { waveformsOf } from "../iterations/fine-waveforms.ts";
import { findIteration, iterationsOf, type Iteration } from "../iterations/iterations.ts";
import { simulatorOf } from "../open.ts";
import { storedPoints, Waveform } from "../simulation/waveforms.ts";
import type { AssessedGoal } from "../tools/circuit-goals.ts";
import { CircuitPath, circuitServices, refused } from "./circuit-services.ts";

/** Points of a curve at most. */
const maxPoints = 5_000;

/** A goal as the API returns it. */
export const GoalShape = z
  .object({
    metric: z.string(),
    target: z.union([z.number(), z.string()]),
    way: z.enum(["at_least", "at_most", "near"]),
    unit: z.string().describe("As the goal says it; empty where it stands in the target"),
    state: z.enum(["reached", "missed", "unknown"]).describe("unknown: the figure was not measured"),
    value: z.number().nullable(),
    gap: z.number().nullable().describe("Value minus target"),
    figure_unit: z.string().describe("The unit of value and gap"),
  })
  .meta({ ref: "CircuitGoal" });
const Netlist = z.object({
  hash: z.string().describe("SHA-256 of the text"),
  text: z.string().nullable().describe("null: over 200,000 characters"),
});
const IterationShape = z
  .object({
    iteration_id: z.string().describe("The id of its operation, by which it can be undone in its thread"),
    circuit: z.string(),
    thread_id: z.string(),
    run_id: z.string().nullable().describe("null: simulated by hand"),
    call_id: z.string().describe("Its name in the tool log: <id of the message>/<place among the calls of it>"),
    at: z.string(),
    status: z
      .enum(["running", "done", "failed", "undone"])
      .describe("undone: the result file of the simulation before is back"),
    message: z.string().nullable().describe("Why it failed"),
    analyses: z.array(z.string()),
    metrics: z.record(z.string(), z.number()),
    units: z.record(z.string(), z.string()),
    goals: z.array(GoalShape),
    notes: z.array(z.string()),
    netlist: Netlist.nullable().describe("What was simulated; null where it is not kept any more"),
    is_kept: z.boolean().describe("Whether its netlist and its curves are kept"),
  })
  .meta({ ref: "CircuitIteration" });
const WholeIterationShape = IterationShape.extend({
  waveforms: z.array(Waveform),
}).meta({ ref: "CircuitIterationDetails" });
const PageQuery = z.object({
  thread_id: Id.optional(),
  limit: z.coerce.number().int().min(1).max(100).default(30),
  cursor: z.string().max(200).optional().describe("X-Pagination-Next of the page before"),
});
const OnePath = CircuitPath.extend({ iteration_id: Id });
const tag = "Circuits";

/** `/circuits/:name/iterations`: what came of each simulation of a circuit. */
export function iterationRoutes(): HttpApp {
  const routes: HttpApp = new Hono<HttpEnvironment>();
  routes.get(
    "/circuits/:name/iterations",
    describe({
      tag,
      summary: "The simulations of a circuit in all threads of the caller, newest first",
      answer: z.array(IterationShape),
      errors: refused,
    }),
    path(CircuitPath),
    query(PageQuery),
    async (context) => {
      const [services, circuit] = await circuitOf(context, context.req.valid("param").name);
      const { iterations, next } = await iterationsOf(circuit, context.req.valid("query"), services);
      if (next !== null) context.header("X-Pagination-Next", next);
      return respondJson(context, iterations.map(toWire));
    },
  );
  routes.get(
    "/circuits/:name/iterations/:iteration_id",
    describe({
      tag,
      summary: "A simulation with its curves; more points than are stored come from its netlist simulated again",
      answer: WholeIterationShape,
      errors: { ...refused, 404: "No such simulation of this circuit" },
    }),
    path(OnePath),
    query(z.object({ points: z.coerce.number().int().min(2).max(maxPoints).default(storedPoints) })),
    async (context) => {
      const { name, iteration_id } = context.req.valid("param");
      const [services, circuit] = await circuitOf(context, name);
      const iteration = await findIteration(circuit, iteration_id, services);
      const { result } = iteration;
      const files = { workspace: services.config.workspace, repeated: false, signal: context.req.raw.signal };
      const engine = simulatorOf(services.toolkitServices);
      const { points } = context.req.valid("query");
      const waveforms = result === null ? [] : await waveformsOf(circuit, result, points, { engine, files });
      return respondJson(context, { ...toWire(iteration), waveforms });
    },
  );
  return routes;
}

/** The services of the caller, and the circuit by its path; it may be gone, as its simulations are not. */
async function circuitOf(context: HttpContext, name: string): Promise<[RouteServices, string]> {
  const services = circuitServices(context);
  return [services, (await locate(services.config.workspace, name)).path];
}

function toWire({ result, goals, ...iteration }: Iteration): z.infer<typeof IterationShape> {
  const { netlist = null } = result ?? {};
  return {
    ...iteration,
    analyses: result?.config.analyses ?? [],
    units: result?.units ?? {},
    goals: goals.map(toWireGoal),
    netlist: netlist === null ? null : { hash: netlist.hash, text: netlist.text },
    is_kept: result !== null,
  };
}

/** A goal for the API. */
export function toWireGoal({ state, ...goal }: AssessedGoal): z.infer<typeof GoalShape> {
  const { value, gap } = state.kind === "unknown" ? { value: null, gap: null } : state;
  return { ...goal, state: state.kind, value, gap };
}
