import { AppError, isAppError } from "@millrace/engine/errors/errors";
import { withFile, type FileContext } from "../../../src/tools/workspace/file-access.ts";
import { textLines } from "../../../src/tools/workspace/text-lines.ts";
import { locate } from "../../../src/tools/workspace/workspace-path.ts";

/** Endings of files that hold circuits. */
export const circuitFiles = ["cir", "ckt", "sp", "spice", "net"];

/** Maximum bytes of a circuit file. */
const maxFileBytes = 4 * 1024 * 1024;

/** A workspace file's text, by the rules of the file tools. Throws their errors. */
export async function readText(context: FileContext, path: string): Promise<string> {
  const place = await locate(context.workspace, path);
  return await withFile(context, place, async (handle, stats) => {
    if (stats.size > maxFileBytes) {
      throw new AppError("too_large", `"${path}" has ${stats.size} bytes, at most ${maxFileBytes} are read.`, {
        suggestion: "Take the part that is needed.",
      });
    }
    const parts: string[] = [];
    for await (const lines of textLines(handle, path, context.signal)) parts.push(...lines);
    return parts.join("");
  });
}

/** The text of a file as `readText` returns it, or `null` if it does not exist. */
export async function readTextIfThere(context: FileContext, path: string): Promise<string | null> {
  try {
    return await readText(context, path);
  } catch (error) {
    if (isAppError(error) && error.code === "not_found") return null;
    throw error;
  }
}

/** The file that belongs to a circuit by its name: `amp_sim.json` to `amp.cir`. */
export function besideCircuit(circuit: string, ending: string): string {
  return circuit.replace(/\.[^./]*$/u, "") + ending;
}
