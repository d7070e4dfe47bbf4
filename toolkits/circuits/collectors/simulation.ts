import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { readIfThere, readWorkspaceText } from "../../../src/context/workspace/workspace-text.ts";
import { priorities, type Collector } from "../../../src/context/collector.ts";
import type { CircuitPlace } from "./circuit-place.ts";
import { namedAfter } from "./named-after.ts";

/** A result file; additional fields are ignored. */
const SimulationResult = z.looseObject({
  timestamp: z.union([z.string(), z.number()]).optional(),
  metrics: z.record(z.string(), z.unknown()).default({}),
  analysis_type: z.unknown().optional(),
  config: z.record(z.string(), z.unknown()).default({}),
  error: z.unknown().optional(),
});

/**
 * The last simulation: its figures, its setup, its failure, and its age. A failure that the diagnostics already show is
 * left out here.
 */
export const simulation: Collector<CircuitPlace> = {
  name: "simulation",
  title: "Last simulation",
  priority: priorities.medium,
  reserved: 500,
  async collect({ workspace, sim_result, circuit_file, now }, signal) {
    const path = sim_result ?? (circuit_file === null ? null : namedAfter(circuit_file, "_sim.json"));
    if (path === null) return null;
    // A result file named by the session must exist; one derived from the circuit's name need not.
    const read = sim_result === null ? readIfThere : readWorkspaceText;
    const file = await read(workspace, path, signal);
    if (file === null) return null;
    const { text, modified } = file;
    const { timestamp, metrics, analysis_type, config, error: written } = parse(text, path);
    const minutes = Math.max(0, Math.floor((now - timeOf(timestamp, modified)) / 60_000));
    const lines = [
      `File: ${path}, ${minutes} minutes old`,
      ...pairs("Analysis", analysis_type === undefined ? {} : { type: analysis_type }),
      ...pairs("Figures", metrics),
      ...pairs("Set up", config),
      ...(written === undefined || written === null ? [] : [`Error in the result: ${textOf(written)}`]),
    ];
    return lines.join("\n");
  },
};

function parse(text: string, path: string): z.infer<typeof SimulationResult> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new AppError("invalid_format", `"${path}" is not JSON.`, { cause: error });
  }
  const parsed = SimulationResult.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new AppError("invalid_format", `"${path}" is no result of a simulation: ${parsed.error.issues[0]?.message}.`);
}

/** Seconds or milliseconds since 1970, or a date; else the file's modification time. */
function timeOf(timestamp: string | number | undefined, modified: number): number {
  if (timestamp === undefined) return modified;
  const time = typeof timestamp === "number" ? timestamp * (timestamp < 1e11 ? 1000 : 1) : Date.parse(timestamp);
  return Number.isFinite(time) ? time : modified;
}

function pairs(title: string, values: Readonly<Record<string, unknown>>): string[] {
  const entries = Object.entries(values).map(([name, value]) => `${name} = ${textOf(value)}`);
  return entries.length === 0 ? [] : [`${title}: ${entries.join(", ")}`];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
