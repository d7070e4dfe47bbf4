import { dirname, join, normalize } from "node:path/posix";
import { readNetlist } from "../netlist.ts";
import { readIfThere, readWorkspaceText } from "../workspace-text.ts";
import { priorities, type Collector } from "./collector.ts";

/** Lines shown before and after one with a fault. */
const around = 5;
/** Faults told at once; what comes after them follows from them as a rule. */
const mostFaults = 10;

/** A fault of a file, at a line from 1. */
interface Fault {
  line: number;
  message: string;
}

/** What is wrong with the circuit before anything is run, and what the session knows of the last failure (CIRC-04). */
export const diagnostics: Collector = {
  name: "diagnostics",
  title: "Diagnostics",
  priority: priorities.critical,
  reserved: 500,
  async collect({ workspace, circuit_file: path, error }, signal) {
    const told = error === null || error === "" ? [] : [`Simulation: ${error}`];
    if (path === null) return told.length === 0 ? null : told.join("\n");
    const { text } = await readWorkspaceText(workspace, path, signal);
    const lines = text.split(/\r?\n/u);
    const faults = [...faultsOf(lines), ...(await missingFiles(text, { workspace, path, signal }))];
    const shown = faults.toSorted((left, right) => left.line - right.line).slice(0, mostFaults);
    const more = faults.length > shown.length ? [`[… ${faults.length - shown.length} more left out …]`] : [];
    const texts = shown.map(({ line, message }) => `${path}:${line}: ${message}\n${surroundings(lines, line)}`);
    const all = [...told, ...texts, ...more];
    return all.length === 0 ? null : all.join("\n");
  },
};

/** What can be told from the lines alone: quotation marks, sub-circuits that do not end, odd names of nodes. */
export function faultsOf(lines: readonly string[]): Fault[] {
  const faults: Fault[] = [];
  const open: { name: string; line: number }[] = [];
  for (const [index, written] of lines.entries()) {
    const text = written.trim();
    const line = index + 1;
    if (index === 0 || text === "" || text.startsWith("*")) continue;
    if ((text.match(/"/gu)?.length ?? 0) % 2 === 1) faults.push({ line, message: "a quotation mark is not closed" });
    const begun = /^\.subckt\s+(\S+)/iu.exec(text)?.[1];
    if (begun !== undefined) open.push({ name: begun, line });
    else if (/^\.ends\b/iu.test(text) && open.pop() === undefined) {
      faults.push({ line, message: ".ends without a .subckt before it" });
    }
    const [, node] = /^[rclvid]\w*\s+(?:\S+\s+)??(\d+[a-z_]\w*)\b/iu.exec(text) ?? [];
    if (node !== undefined) faults.push({ line, message: `the name of the node ${node} begins with a digit` });
  }
  return [...faults, ...open.map(({ name, line }) => ({ line, message: `.subckt ${name} has no .ends` }))];
}

async function missingFiles(
  text: string,
  { workspace, path, signal }: { workspace: string; path: string; signal: AbortSignal },
): Promise<Fault[]> {
  const includes = readNetlist(text).includes.slice(0, 50);
  const faults = await Promise.all(
    includes.map(async ({ path: named, line }): Promise<Fault | null> => {
      // What lies outside of the workspace is not looked at.
      if (/^(?:[/~]|[a-z]:)/iu.test(named)) return null;
      const place = normalize(join(dirname(path), named));
      if (place.startsWith("..")) return null;
      const isThere = await isInWorkspace(workspace, place, signal);
      return isThere ? null : { line, message: `the file ${named} is not there` };
    }),
  );
  return faults.filter((fault) => fault !== null);
}

/** A file that cannot be read is there: that it cannot is told with the included files. */
async function isInWorkspace(workspace: string, path: string, signal: AbortSignal): Promise<boolean> {
  try {
    return (await readIfThere(workspace, path, signal)) !== null;
  } catch {
    signal.throwIfAborted();
    return true;
  }
}

function surroundings(lines: readonly string[], line: number): string {
  const from = Math.max(1, line - around);
  return lines
    .slice(from - 1, line + around)
    .map((text, index) => `${from + index === line ? ">" : " "} ${from + index}: ${text}`)
    .join("\n");
}
