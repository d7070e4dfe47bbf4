import { once } from "node:events";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { Session, type Profiler } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { projectFolder } from "../../support/source-files.ts";
import { createThreads, streamRun } from "../servers/load.ts";

const ExecutedCode = z.object({
  files: z.int(),
  functions: z.int(),
  calls: z.int(),
  /** By file, from the project's folder: how often each named function was called. */
  byFile: z.record(z.string(), z.record(z.string(), z.int())),
  /** The addresses of all modules that the process has loaded. */
  loaded: z.array(z.string()),
});

/** What of our code one request executes, in a warm server. */
export type ExecutedCode = z.infer<typeof ExecutedCode>;

/** Requests before the one that is measured: what is loaded or made once is no part of it. */
const warmUp = 5;

/** A timer that fires meanwhile, on a busy machine, is no part of a request: of so many the one that executes least counts. */
const tries = 3;

/**
 * Our files and named functions that `POST /threads/:id/runs/stream` executes for a graph of one node that does nothing,
 * by V8's precise coverage; in a process of its own, so that nothing else runs beside it.
 */
export async function executedCode(): Promise<ExecutedCode> {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (part) => (text += String(part)));
  await once(child, "close");
  return ExecutedCode.parse(JSON.parse(text));
}

async function measure(): Promise<ExecutedCode> {
  const { startServer } = await import("../../../src/server.ts");
  const folder = mkdtempSync(join(tmpdir(), "millrace-executed-code-"));
  mkdirSync(join(folder, "workspace"));
  const server = await startServer({
    ...loadConfig({}),
    port: 0,
    dataDir: join(folder, "data"),
    workspace: join(folder, "workspace"),
    workspaceIsDefault: false,
    graphs: join(projectFolder, "tests/bench/langgraph.json"),
    logLevel: "silent",
    watchFiles: "off",
    // It looks at its files by a timer, also during a run.
    console: false,
  });
  const session = new Session();
  session.connect();
  try {
    const [thread = ""] = await createThreads(server.url, 1);
    const run = (): Promise<unknown> =>
      streamRun(server.url, thread, { assistant: "noop", input: { value: "x" }, streamMode: ["values"] });
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    for (let index = 0; index < warmUp; index += 1) await run();
    // Taking the counts sets them back to zero.
    await session.post("Profiler.takePreciseCoverage");
    const measured: Omit<ExecutedCode, "loaded">[] = [];
    for (let index = 0; index < tries; index += 1) {
      await run();
      const { result } = await session.post("Profiler.takePreciseCoverage");
      measured.push(summarize(result));
    }
    const [least] = measured.toSorted((one, other) => one.files - other.files || one.functions - other.functions);
    if (least === undefined) throw new Error("Nothing was measured.");
    return { ...least, loaded: await loadedModules(session) };
  } finally {
    session.disconnect();
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A debugger gets every module that is there when it begins. */
async function loadedModules(session: Session): Promise<string[]> {
  const loaded: string[] = [];
  session.on("Debugger.scriptParsed", ({ params }) => void loaded.push(params.url));
  await session.post("Debugger.enable");
  await session.post("Debugger.disable");
  return loaded;
}

function summarize(scripts: Profiler.ScriptCoverage[]): Omit<ExecutedCode, "loaded"> {
  const ours = /^(src|toolkits|packages\/[^/]+\/src)\//u;
  const byFile: ExecutedCode["byFile"] = {};
  let calls = 0;
  for (const { url, functions } of scripts) {
    const file = url.startsWith("file:") ? fileURLToPath(url).slice(projectFolder.length).replace(/^\//u, "") : "";
    if (!ours.test(file)) continue;
    // Functions have names such as `valueOf`.
    const counts = new Map<string, number>();
    let hasRun = false;
    for (const { functionName, ranges } of functions) {
      const count = ranges[0]?.count ?? 0;
      calls += count;
      if (functionName !== "" && count > 0) counts.set(functionName, (counts.get(functionName) ?? 0) + count);
      hasRun ||= count > 0;
    }
    if (hasRun) byFile[file] = Object.fromEntries(counts);
  }
  const functions = Object.values(byFile).reduce((sum, counts) => sum + Object.keys(counts).length, 0);
  return { files: Object.keys(byFile).length, functions, calls, byFile };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(JSON.stringify(await measure()));
