import { dirname, join, normalize } from "node:path/posix";
import { errorMessage, isAppError } from "@millrace/engine/errors/errors";
import { fileExcerpt } from "./file-excerpt.ts";
import { fenced } from "../../../src/context/layers.ts";
import { createNetlistFiles } from "../netlist/netlist-files.ts";
import { priorities, type Collector } from "../../../src/context/collector.ts";
import type { CircuitPlace } from "./circuit-place.ts";

/** Depth to which includes are followed, depth to which their sub-circuits are shown, and maximum files read. */
const [deepest, shownDeepest, maxFiles] = [5, 3, 50];

const files = createNetlistFiles();

/** An included file and its depth; `text` is `null` if it is missing or unreadable. */
interface Dependency {
  path: string;
  /** The length of the shortest include chain to it. */
  depth: number;
  text: string | null;
  modified: number;
  isMissing: boolean;
  /** The files it includes. */
  includes: readonly string[];
}

/**
 * Files included by the circuit: direct ones by size, those two or three levels away with their sub-circuits, others by
 * name. At equal distance newest first. Files outside the workspace are not read.
 */
export const dependencies: Collector<CircuitPlace> = {
  name: "dependencies",
  title: "Included files",
  priority: priorities.high,
  reserved: 1000,
  async collect({ workspace, circuit_file: start, changed = [] }, signal, warn) {
    if (start === null) return null;
    const first = normalize(start);
    const found = new Map<string, Dependency>();
    const waiting = [{ path: first, depth: 0 }];
    const known = new Set([first]);
    // Breadth first, so each file has its shortest distance.
    for (const { path, depth } of waiting) {
      const file = await readOrWarn(workspace, path, { isChanged: changed.includes(path), signal, warn });
      const named = depth === deepest ? [] : file.includes;
      const includes = named.flatMap((one) => inWorkspace(workspace, path, one) ?? []);
      found.set(path, { path, depth, ...file, includes });
      for (const next of includes) {
        if (known.has(next) || known.size > maxFiles) continue;
        known.add(next);
        waiting.push({ path: next, depth: depth + 1 });
      }
    }
    const sorted = [...found.values()]
      .filter(({ depth }) => depth > 0)
      .toSorted((left, right) => left.depth - right.depth || right.modified - left.modified);
    const cycles = cyclesFrom(first, found).map((cycle) => `They include each other: ${cycle.join(" → ")}`);
    const sections = [...sorted.map(sectionOf), ...cycles];
    return sections.length === 0 ? null : sections.join("\n\n");
  },
};

/** Include cycles back to the start; each file is followed once. */
function cyclesFrom(first: string, found: ReadonlyMap<string, Dependency>): string[][] {
  const cycles: string[][] = [];
  const followed = new Set<string>();
  const follow = (path: string, way: readonly string[]): void => {
    const here = [...way, path];
    followed.add(path);
    for (const next of new Set(found.get(path)?.includes)) {
      if (here.includes(next)) cycles.push([...here.slice(here.indexOf(next)), next]);
      else if (!followed.has(next)) follow(next, here);
    }
  };
  follow(first, []);
  return cycles;
}

/** An unreadable file is reported; the others are still collected. */
async function readOrWarn(
  workspace: string,
  path: string,
  { isChanged, signal, warn }: { isChanged: boolean; signal: AbortSignal; warn: (reason: string) => void },
): Promise<Pick<Dependency, "text" | "modified" | "isMissing" | "includes">> {
  try {
    const { text, modified, includes } = await files.read(workspace, path, { isChanged, signal });
    return { text, modified, includes, isMissing: false };
  } catch (error) {
    signal.throwIfAborted();
    const isMissing = isAppError(error) && error.code === "not_found";
    if (!isMissing) warn(errorMessage(error));
    return { text: null, modified: 0, includes: [], isMissing };
  }
}

/** A file's workspace path, also if named absolutely; `null` outside the workspace. */
function inWorkspace(workspace: string, from: string, named: string): string | null {
  if (named.startsWith(`${workspace}/`)) return normalize(named.slice(workspace.length + 1));
  if (/^(?:[/~]|[a-z]:)/iu.test(named) || named.includes("\\")) return null;
  const path = normalize(join(dirname(from), named));
  return path.startsWith("..") ? null : path;
}

function sectionOf({ path, depth, text, isMissing }: Dependency): string {
  if (text === null) return `${path} (${isMissing ? "not there" : "cannot be read"})`;
  if (depth === 1) {
    const { facts, text: shown } = fileExcerpt(path, text);
    return [path, ...facts, fenced("spice", shown)].join("\n");
  }
  const subcircuits = depth <= shownDeepest ? subcircuitsOf(text) : "";
  return subcircuits === "" ? path : `${path} (its sub-circuits)\n${fenced("spice", subcircuits)}`;
}

/** The lines from each `.subckt` to its `.ends`. */
function subcircuitsOf(text: string): string {
  let open = 0;
  const kept = text.split(/\r?\n/u).filter((line) => {
    if (/^\s*\.subckt\b/iu.test(line)) open += 1;
    const isInside = open > 0;
    if (/^\s*\.ends\b/iu.test(line)) open = Math.max(0, open - 1);
    return isInside;
  });
  return kept.join("\n");
}
