import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { projectFolder } from "../source-files.ts";

const source = join(projectFolder, "tests", "fixtures", "langgraph-versions");
const run = promisify(execFile);

/** The versions of LangGraph that folders of users are tried with. */
export const langgraphVersions = ["0.2.20", "0.2.74", "0.3.12", "0.4.10", "1.0.15", "1.4.18", "1.7.3"] as const;

/** The graphs of each version, by the name of their export. */
export const graphNames = ["chat", "work", "nested", "breakpoint", "lasting", "keeper"] as const;

/** The graph of a version, by its id. */
export function graphOf(name: (typeof graphNames)[number], version: string): string {
  return `${name}@${version}`;
}

/**
 * A folder for each version with the packages of its own, and a `langgraph.json` that names the graphs of all of them; its path,
 * or `undefined` where the packages are not there yet and there is no registry. They are installed once, and again when what is
 * locked changes.
 */
export async function installVersions(): Promise<string | undefined> {
  const lock = await readFile(join(source, "package-lock.json"));
  const name = `langgraph-versions-${createHash("sha256").update(lock).digest("hex").slice(0, 16)}`;
  const folder = join(projectFolder, "node_modules", ".cache", name);
  if (!existsSync(folder)) {
    if (!(await hasRegistry())) return undefined;
    await install(folder);
  }
  for (const version of langgraphVersions) {
    await cp(join(source, "graphs.mjs"), join(folder, `v${version}`, "graphs.mjs"));
  }
  const graphs = langgraphVersions.flatMap((version) =>
    graphNames.map((graph) => [graphOf(graph, version), `./v${version}/graphs.mjs:${graph}`]),
  );
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs: Object.fromEntries(graphs) }));
  return folder;
}

/** Decided within seconds: who works without a network must not wait. */
async function hasRegistry(): Promise<boolean> {
  const words = ["view", "@langchain/langgraph@0.2.20", "version", "--fetch-retries=0", "--fetch-timeout=5000"];
  try {
    await run("npm", words, { timeout: 10_000 });
    return true;
  } catch {
    return false;
  }
}

/** Beside its place first: an installation that was cut off must not be taken for a whole one. */
async function install(folder: string): Promise<void> {
  const partial = `${folder}.${process.pid}`;
  await rm(partial, { recursive: true, force: true });
  try {
    await mkdir(join(folder, ".."), { recursive: true });
    await cp(source, partial, { recursive: true });
    await run("npm", ["ci", "--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts"], {
      cwd: partial,
      timeout: 300_000,
    });
    await rename(partial, folder);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}
