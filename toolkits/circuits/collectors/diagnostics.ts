import { dirname, join, normalize } from "node:path/posix";
import { createFailureHistory } from "../netlist/failure-history.ts";
import { createFaultCache } from "../netlist/fault-cache.ts";
import { netlistWarnings } from "../netlist/netlist-warnings.ts";
import { readNetlist } from "../netlist/netlist.ts";
import { readIfThere, readWorkspaceText } from "../../../src/context/workspace/workspace-text.ts";
import { priorities, type Collector } from "../../../src/context/collector.ts";
import type { CircuitPlace } from "./circuit-place.ts";

/** Context lines around a fault. */
const around = 5;
/** Maximum faults listed; later ones usually follow from these. */
const maxFaults = 10;
/** Maximum earlier failures listed. */
const maxFailures = 3;

/** A fault in a file; lines count from 1. */
interface Fault {
  line: number;
  message: string;
}

/** Findings by file, valid while the file is unchanged, and earlier failures. */
const checked = createFaultCache<Fault[]>();
const failures = createFailureHistory();

/**
 * Errors and suspicious parts found statically, the session's last error, and earlier failures since the last
 * successful simulation.
 */
export const diagnostics: Collector<CircuitPlace> = {
  name: "diagnostics",
  title: "Diagnostics",
  priority: priorities.critical,
  reserved: 500,
  includesError: true,
  async collect(context, signal) {
    const { workspace, circuit_file: path, error } = context;
    const failures = [...(error === null || error === "" ? [] : [`Simulation: ${error}`]), ...earlierFailures(context)];
    if (path === null) return failures.length === 0 ? null : failures.join("\n");
    const { text, modified } = await readWorkspaceText(workspace, path, signal);
    const lines = text.split(/\r?\n/u);
    const found = checked.get(join(workspace, path), modified, () => [...faultsOf(lines), ...netlistWarnings(text)]);
    const faults = [...found, ...(await missingFiles(text, { workspace, path, signal }))];
    const inOrder = faults.toSorted(
      (left, right) => Number(isWarning(left)) - Number(isWarning(right)) || left.line - right.line,
    );
    const shown = inOrder.slice(0, maxFaults);
    const more = faults.length > shown.length ? [`[… ${faults.length - shown.length} more left out …]`] : [];
    const texts = shown.map(({ line, message }) => `${path}:${line}: ${message}\n${surroundings(lines, line)}`);
    const all = [...failures, ...texts, ...more];
    return all.length === 0 ? null : all.join("\n");
  },
};

const isWarning = ({ message }: Fault): boolean => message.startsWith("warning: ");

/** Records the current failure, or clears all after a success; returns earlier ones, newest first. */
function earlierFailures(context: CircuitPlace): string[] {
  const { session = "", workspace, circuit_file: path, error, metrics, now } = context;
  if (path === null) return [];
  const circuit = `${session}/${join(workspace, path)}`;
  const hasFailed = error !== null && error !== "";
  if (hasFailed) failures.add(circuit, error, now);
  else if (metrics !== null) failures.clear(circuit);
  const before = failures.of(circuit).slice(hasFailed ? 1 : 0, maxFailures + (hasFailed ? 1 : 0));
  return before.map(({ message, at }) => `Failed before, ${Math.floor((now - at) / 60_000)} minutes ago: ${message}`);
}

/** Faults detectable line by line: quotes, unclosed sub-circuits, odd node names. */
export function faultsOf(lines: readonly string[]): Fault[] {
  const faults: Fault[] = [];
  const open: { name: string; line: number }[] = [];
  for (const [index, written] of lines.entries()) {
    const text = written.trim();
    const line = index + 1;
    if (index === 0 || text === "" || text.startsWith("*")) continue;
    if ((text.match(/"/gu)?.length ?? 0) % 2 === 1) faults.push({ line, message: "a quotation mark is not closed" });
    const opened = /^\.subckt\s+(\S+)/iu.exec(text)?.[1];
    if (opened !== undefined) open.push({ name: opened, line });
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
      // Files outside the workspace are not checked.
      if (/^(?:[/~]|[a-z]:)/iu.test(named)) return null;
      const place = normalize(join(dirname(path), named));
      if (place.startsWith("..")) return null;
      const isThere = await isInWorkspace(workspace, place, signal);
      return isThere ? null : { line, message: `the file ${named} is not there` };
    }),
  );
  return faults.filter((fault) => fault !== null);
}

/** An unreadable file counts as existing; the included files report that it cannot be read. */
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
