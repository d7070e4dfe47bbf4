import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { constants, setPriority } from "node:os";
import { dirname, join, parse, relative } from "node:path";
import { z } from "zod";
import { AppError, errorMessage } from "../errors.ts";
import { readTypeLiteral } from "./type-literal.ts";
import { typeProbe } from "./type-probe.ts";

/** How long the compiler may work. Nobody waits for it. */
const limitMilliseconds = 120_000;

const JsonSchema = z.record(z.string(), z.unknown());

/** What the types of a graph say, as JSON Schemas. */
export const TypeSchemas = z.object({ state: JsonSchema, input: JsonSchema, output: JsonSchema, context: JsonSchema });
export type TypeSchemas = z.infer<typeof TypeSchemas>;

/** A graph as its module exports it. */
export interface GraphSource {
  id: string;
  path: string;
  name: string;
}

/**
 * Asks the TypeScript compiler of the folder, or else ours, for the schemas of graphs whose types alone say what their state
 * is. All in one compilation, in a process of low priority. Answers with those that could be read; throws `execution_failed`
 * without a compiler, `timeout`, and `cancelled` when the signal is aborted. `scratch` is a folder for what is written.
 */
export async function readTypes(
  sources: readonly GraphSource[],
  { folder, scratch, signal }: { folder: string; scratch: string; signal: AbortSignal },
): Promise<Map<string, TypeSchemas>> {
  const compiler = findCompiler(folder);
  const work = await mkdtemp(join(scratch, "types-"));
  try {
    const lent = await lendPackages(folder, work);
    const probes = sources.map(({ path, name }) => typeProbe(lent?.(path) ?? path, name));
    await Promise.all(probes.map((text, at) => writeFile(probeIn(work, at), text)));
    await writeFile(join(work, "tsconfig.json"), JSON.stringify(settings(work, probes.length, lent !== undefined)));
    // The compiler may have complaints about the graph's own types, and writes the declarations all the same.
    await compile(compiler, work, signal);
    const found = new Map<string, TypeSchemas>();
    for (const file of await readdir(join(work, "out"), { recursive: true })) {
      const at = /probe-(\d+)\.d\.ts$/u.exec(file)?.[1];
      const source = at === undefined ? undefined : sources[Number(at)];
      const schemas = source && readSchemas(await readFile(join(work, "out", file), "utf8"));
      if (source !== undefined && schemas !== undefined) found.set(source.id, schemas);
    }
    return found;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function probeIn(work: string, at: number): string {
  return join(work, `probe-${at}.ts`);
}

function readSchemas(declaration: string): TypeSchemas | undefined {
  try {
    return TypeSchemas.safeParse(readTypeLiteral(declaration)).data;
  } catch {
    // Types that say more than JSON can; the channels' names stay what is known.
    return undefined;
  }
}

/** The compiler's program, which is the same file in every version. */
function findCompiler(folder: string): string {
  for (const from of [join(folder, "package.json"), import.meta.url]) {
    try {
      return join(dirname(createRequire(from).resolve("typescript/package.json")), "bin", "tsc");
    } catch {
      // Not there; perhaps in the next place.
    }
  }
  throw new AppError("execution_failed", "No TypeScript compiler was found.", {
    suggestion: "Add typescript to the packages of the graphs, or declare their state with StateSchema or zod.",
  });
}

function settings(work: string, probes: number, preserveSymlinks: boolean): object {
  return {
    compilerOptions: {
      target: "ES2022",
      module: "NodeNext",
      moduleResolution: "NodeNext",
      rootDir: parse(work).root,
      outDir: join(work, "out"),
      declaration: true,
      emitDeclarationOnly: true,
      noEmitOnError: false,
      allowImportingTsExtensions: true,
      strict: true,
      skipLibCheck: true,
      types: [],
      preserveSymlinks,
    },
    files: Array.from({ length: probes }, (_probe, at) => probeIn(work, at)),
  };
}

/**
 * A folder without packages of its own is lent ours when it runs. For the compiler, which looks for packages beside a module,
 * it stands under another name in a folder that has them. Answers with the name that a module has then.
 */
async function lendPackages(folder: string, work: string): Promise<((path: string) => string) | undefined> {
  if (createRequire(join(folder, "package.json")).resolve.paths("x")?.some(hasLangGraph) === true) return undefined;
  const own = createRequire(import.meta.url)
    .resolve.paths("x")
    ?.find(hasLangGraph);
  if (own === undefined) return undefined;
  await symlink(own, join(work, "node_modules"), "dir");
  await symlink(folder, join(work, "graphs"), "dir");
  return (path) => join(work, "graphs", relative(folder, path));
}

function hasLangGraph(packages: string): boolean {
  return existsSync(join(packages, "@langchain", "langgraph", "package.json"));
}

async function compile(compiler: string, work: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, [compiler, "-p", work], {
    cwd: work,
    // A compiler needs none of what the server was told.
    env: {},
    stdio: "ignore",
    detached: true,
  });
  const { pid } = child;
  if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW);
  // The compiler may be a program that the one we have started has started.
  const end = (): void => {
    if (pid === undefined || child.exitCode !== null) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // It has just ended by itself.
    }
  };
  const timer = setTimeout(end, limitMilliseconds);
  signal.addEventListener("abort", end, { once: true });
  try {
    const [, killed] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    if (signal.aborted) throw new AppError("cancelled", "The types of the graphs were not read to the end.");
    if (killed !== null)
      throw new AppError("timeout", `The compiler was not ready after ${limitMilliseconds / 1000} s.`);
  } catch (error) {
    throw error instanceof AppError ? error : new AppError("execution_failed", errorMessage(error), { cause: error });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    end();
  }
}
