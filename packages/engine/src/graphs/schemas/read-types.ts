import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { constants, setPriority } from "node:os";
import { join, relative } from "node:path";
import { z } from "zod";
import { AppError, errorMessage } from "../../errors/errors.ts";
import { endGroup, keepGroup } from "../../concurrency/process-group.ts";
import type { GraphSource } from "./descriptions.ts";
import { FoundTypes, type TypeJob } from "./type-schemas.ts";

/** How long the compiler may work. */
const limitMilliseconds = 120_000;

/** The file of the process: beside this one, with the ending that this one has in the sources or in a bundle. */
const readerFile = join(
  import.meta.dirname,
  import.meta.filename.endsWith(".ts") ? "type-reader.ts" : "type-reader.js",
);

const Answer = z.array(FoundTypes.nullable());

/**
 * Asks the TypeScript compiler that stands beside this program for the schemas of graphs whose types alone say what their
 * state is: all of them at once, in a process of low priority. Answers with those that were found; throws `execution_failed`
 * where the compiler does not run, `timeout`, and `cancelled` when the signal is aborted. `scratch` is a folder for what is written.
 */
export async function readTypes(
  sources: readonly GraphSource[],
  { folder, scratch, signal }: { folder: string; scratch: string; signal: AbortSignal },
): Promise<Map<string, FoundTypes>> {
  const work = await mkdtemp(join(scratch, "types-"));
  try {
    const placed = await lendPackages(folder, work);
    const job: TypeJob = { work, graphs: sources.map(({ path, name }) => ({ path: placed(path), name })) };
    const [asked, answered] = [join(work, "job.json"), join(work, "answer.json")];
    await writeFile(asked, JSON.stringify(job));
    await runReader([asked, answered], work, signal);
    const answer = Answer.parse(JSON.parse(await readFile(answered, "utf8")));
    return new Map(
      sources.flatMap(({ id }, at): [string, FoundTypes][] => {
        const found = answer[at];
        // The files are told by their own names.
        const files = found?.files.map((file) => file.replace(join(work, "graphs"), folder)) ?? [];
        return found ? [[id, { ...found, files }]] : [];
      }),
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * A folder without packages of its own is lent ours when it runs. For the compiler, which looks for packages beside a
 * module, it stands under another name in a folder that has them. Answers with the name that a module has then.
 */
async function lendPackages(folder: string, work: string): Promise<(path: string) => string> {
  const own = createRequire(import.meta.url)
    .resolve.paths("x")
    ?.find(hasLangGraph);
  const isLent = !createRequire(join(folder, "package.json")).resolve.paths("x")?.some(hasLangGraph);
  if (own === undefined || !isLent) return (path) => path;
  await symlink(own, join(work, "node_modules"), "dir");
  await symlink(folder, join(work, "graphs"), "dir");
  return (path) => {
    const inside = relative(folder, path);
    return inside.startsWith("..") ? path : join(work, "graphs", inside);
  };
}

function hasLangGraph(packages: string): boolean {
  return existsSync(join(packages, "@langchain", "langgraph", "package.json"));
}

async function runReader(files: string[], work: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [readerFile, ...files], {
    cwd: work,
    // A compiler needs none of what the server was told, but how much memory it should do with.
    env: { GOMEMLIMIT: "1GiB" },
    // Its input stays open as long as this process lives.
    stdio: ["pipe", "ignore", "pipe"],
    detached: true,
  });
  const { pid } = child;
  if (pid !== undefined) {
    // The process starts the compiler, which ends with it.
    keepGroup(pid);
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  }
  const end = (): void => {
    if (pid !== undefined && child.exitCode === null) endGroup(pid);
  };
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = `${said}${text}`.slice(0, 10_000);
  });
  const timer = setTimeout(end, limitMilliseconds);
  signal.addEventListener("abort", end, { once: true });
  try {
    const [code, killed] = z.tuple([z.number().nullable(), z.string().nullable()]).parse(await once(child, "exit"));
    if (signal.aborted) throw new AppError("cancelled", "The types of the graphs were not read to the end.");
    if (killed !== null)
      throw new AppError("timeout", `The compiler was not ready after ${limitMilliseconds / 1000} s.`);
    if (code !== 0) throw new AppError("execution_failed", reasonIn(said));
  } catch (error) {
    throw error instanceof AppError ? error : new AppError("execution_failed", errorMessage(error), { cause: error });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    if (pid !== undefined) endGroup(pid);
  }
}

function reasonIn(said: string): string {
  return /^\w*Error.*$/mu.exec(said)?.[0] ?? "The compiler ended without an answer.";
}
