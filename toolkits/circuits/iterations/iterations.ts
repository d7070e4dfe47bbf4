import { z } from "zod";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { OperationRecord } from "@millrace/engine/storage/records";
import type { RouteServices } from "../../../src/toolkits/route-services.ts";
import { Waveform } from "../simulation/waveforms.ts";
import { AssessedGoal } from "../tools/circuit-goals.ts";
import { besideCircuit } from "../tools/deck-file.ts";
import { KeptNetlist } from "./kept-netlist.ts";

/** The newest simulations of a circuit among which one is looked for by its id. */
const maxLookedAt = 1_000;

const metrics = z.record(z.string(), z.number()).default({});
const notes = z.array(z.string()).default([]);
const goals = z.array(AssessedGoal).catch([]);
/** A result file of `run_simulation`. Those of older versions have no netlist. */
const ResultFile = z.looseObject({
  metrics,
  units: z.record(z.string(), z.string()).default({}),
  goals,
  notes,
  netlist: KeptNetlist.nullable().default(null),
  config: z.looseObject({
    analyses: z.array(z.string()),
    output: z.string().nullable(),
    input: z.string().nullable(),
    temperature: z.number(),
  }),
  waveforms: z.array(Waveform),
});
/** What a simulation has left in its result file. */
export type SimulationResult = z.infer<typeof ResultFile>;

/** The result of a call in the ledger. */
const LedgerResult = z.looseObject({
  message: z.string(),
  data: z.looseObject({ metrics, goals, notes }).optional().catch(undefined),
});

/** A simulation of a circuit. Whatever its result is, it is an operation that can be undone as any other. */
export interface Iteration {
  iteration_id: string;
  circuit: string;
  thread_id: string;
  /** `null`: simulated by hand. */
  run_id: string | null;
  /** Its call in the ledger. */
  call_id: string;
  at: string;
  /** `undone`: the result file of the simulation before is back. */
  status: "running" | "done" | "failed" | "undone";
  /** Why it failed. */
  message: string | null;
  metrics: Record<string, number>;
  goals: AssessedGoal[];
  notes: string[];
  /** `null` where it is not kept any more. */
  result: SimulationResult | null;
}

/** What is read for iterations, in their caller's scope. */
export type IterationParts = Pick<RouteServices, "overview" | "operations" | "storage">;

/** Which iterations are wanted. */
export interface IterationPage {
  thread_id?: string | undefined;
  limit: number;
  cursor?: string | undefined;
}

/**
 * The simulations of a circuit in all threads of the caller, newest first. They are the operations on its result file, of
 * which each keeps what the simulation has written: nothing else is stored for them.
 */
export async function iterationsOf(
  circuit: string,
  { thread_id: session_id, ...page }: IterationPage,
  parts: IterationParts,
): Promise<{ iterations: Iteration[]; next: string | null }> {
  const { rows, next } = await parts.overview.operations({
    ...page,
    session_id,
    path: besideCircuit(circuit, "_sim.json"),
  });
  const iterations = rows.filter(isSimulation).map((row) => iterationOf(circuit, row, parts));
  return { iterations: await Promise.all(iterations), next };
}

/** One simulation. Throws `not_found`. */
export async function findIteration(circuit: string, id: string, parts: IterationParts): Promise<Iteration> {
  const path = besideCircuit(circuit, "_sim.json");
  const { rows } = await parts.overview.operations({ path, limit: maxLookedAt });
  const row = rows.find((one) => one.operation_id === id && isSimulation(one));
  if (row !== undefined) return await iterationOf(circuit, row, parts);
  throw new AppError("not_found", `"${circuit}" has no simulation ${id}.`, {
    suggestion: "GET /circuits/:name/iterations lists them.",
  });
}

const isSimulation = ({ tool, change }: OperationRecord): boolean =>
  tool === "run_simulation" && change.kind === "write";

async function iterationOf(circuit: string, row: OperationRecord, parts: IterationParts): Promise<Iteration> {
  const { operation_id, session_id, run_id, message_id, tool_call_id, created_at, status } = row;
  const result = status === "pending" || status === "failed" ? null : await resultOf(row, parts);
  const called = result === null && status !== "pending" ? await ledgerResultOf(row, parts) : undefined;
  const figures = result ?? called?.data ?? { metrics: {}, goals: [], notes: [] };
  return {
    iteration_id: operation_id,
    circuit,
    thread_id: session_id,
    // A call by hand has the name of its message in place of a run.
    run_id: run_id === message_id ? null : run_id,
    call_id: tool_call_id,
    at: created_at,
    status: status === "pending" ? "running" : status === "success" ? "done" : status,
    message: status === "failed" ? (called?.message ?? null) : null,
    metrics: figures.metrics,
    goals: figures.goals,
    notes: figures.notes,
    result,
  };
}

/** What the simulation wrote; `null` where it is not kept, or was written by something else in its place. */
async function resultOf(
  { session_id, operation_id }: OperationRecord,
  { operations }: IterationParts,
): Promise<SimulationResult | null> {
  try {
    const { bytes } = await operations.content(session_id, operation_id, { side: "after" });
    return ResultFile.parse(JSON.parse(new TextDecoder().decode(bytes)));
  } catch (error) {
    const isOther = error instanceof SyntaxError || error instanceof z.ZodError;
    if (isOther || (isAppError(error) && error.code === "not_found")) return null;
    throw error;
  }
}

async function ledgerResultOf(
  { session_id, tool_call_id }: OperationRecord,
  { storage }: IterationParts,
): Promise<z.infer<typeof LedgerResult> | undefined> {
  return LedgerResult.safeParse((await storage.ledger.get(session_id, tool_call_id))?.result).data;
}
