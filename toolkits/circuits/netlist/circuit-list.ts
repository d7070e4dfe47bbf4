import { lstat } from "node:fs/promises";
import { isAppError, systemCode } from "@millrace/engine/errors/errors";
import type { FileContext } from "../../../src/tools/workspace/file-access.ts";
import { withFile } from "../../../src/tools/workspace/file-access.ts";
import { locate, type Place } from "../../../src/tools/workspace/workspace-path.ts";
import { walk } from "../../../src/tools/workspace/walk.ts";
import { besideCircuit } from "../tools/deck-file.ts";

/** A netlist of the workspace. */
export interface CircuitEntry {
  name: string;
  title: string;
  size: number;
  modified_at: string;
  /** When its result was written; `null` where it has none. */
  simulated_at: string | null;
}

const netlists = /\.(?:cir|ckt|sp|spice)$/iu;
/** Circuits listed, entries of the workspace that are looked at, and bytes that hold the title. */
const [maxCircuits, maxEntries, titleBytes] = [500, 50_000, 400];

/** The netlists of the workspace, level by level, as far as they are wanted; `more`: there are others that were not looked at. */
export async function listCircuits(
  context: FileContext,
  isWanted: (path: string) => boolean = () => true,
): Promise<{ circuits: CircuitEntry[]; more: boolean }> {
  const { workspace } = context;
  const circuits: CircuitEntry[] = [];
  let seen = 0;
  const start: Place = { kind: "folder", path: ".", real: workspace, existing: workspace, missing: [] };
  for await (const { path, real, kind } of walk(context, start)) {
    seen += 1;
    if (seen > maxEntries || circuits.length >= maxCircuits) return { circuits, more: true };
    if (kind !== "file" || !netlists.test(path) || !isWanted(path)) continue;
    const entry = await entryOf(context, path, real);
    if (entry !== undefined) circuits.push(entry);
  }
  return { circuits, more: false };
}

/** `undefined` for a file that has gone meanwhile, or may not be read. */
async function entryOf(context: FileContext, name: string, real: string): Promise<CircuitEntry | undefined> {
  try {
    const place = await locate(context.workspace, name);
    const [title, size, modified] = await withFile(context, place, async (handle, stats) => {
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(titleBytes), 0, titleBytes, 0);
      const [line = ""] = buffer
        .subarray(0, bytesRead)
        .toString("utf8")
        .split(/\r\n|\n|\r/u);
      return [line.replace(/^\uFEFF/u, "").trim(), stats.size, stats.mtime] as const;
    });
    const result = await lstat(besideCircuit(real, "_sim.json")).catch(() => undefined);
    const simulated_at = result?.isFile() === true ? result.mtime.toISOString() : null;
    return { name, title, size, modified_at: modified.toISOString(), simulated_at };
  } catch (error) {
    context.signal.throwIfAborted();
    if (isAppError(error) || systemCode(error) !== "") return undefined;
    throw error;
  }
}
