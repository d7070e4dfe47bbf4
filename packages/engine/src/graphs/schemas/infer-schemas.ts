import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { setTimeout as after } from "node:timers/promises";
import { AppError, errorMessage } from "../../errors/errors.ts";
import type { Logger } from "../../logger.ts";
import { unlessAborted } from "../../concurrency/abort.ts";
import type { Graphs } from "../load.ts";
import type { GraphSource, Reading } from "./descriptions.ts";
import { createHash } from "node:crypto";
import { dirname, join, relative } from "node:path";
import { z } from "zod";
import { ReadTypes, type TypeJob, TypeSchemas } from "./graph-schemas.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createRequire, getCompileCacheDir } from "node:module";
import { constants, setPriority } from "node:os";
import { endGroup, keepGroup } from "../../concurrency/process-group.ts";
import type { Config } from "../../config/config.ts";

/** Milliseconds that a schema request waits for types being read. */
const maxWaitMs = 10_000;

/** Milliseconds after the start before types are read in the background: the first requests need the processor. */
const quietStart = 3_000;

/** Options of the type reader. `cache` is a persistent folder. */
interface InferOptions {
  graphs: Graphs;
  /** The folder of the graphs' manifest. */
  folder: string;
  cache: string;
  logger: Logger;
  wait?: number;
  read?: typeof readTypes;
  /** Milliseconds before the reading starts; a schema request starts it at once. */
  delay?: number;
}

/** Reading types in the background. */
interface Learning extends Reading {
  /** Resolves when everything possible is known. Never rejects. */
  done: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Reads in the background what only types reveal of graphs: from the cache while no source has changed, else with the
 * compiler. Only schema requests for a graph still being read wait for it.
 */
export function inferSchemas(options: InferOptions): Learning {
  const ending = new AbortController();
  const known = new Map<string, PromiseWithResolvers<void>>(
    options.graphs.ids().map((id) => [id, Promise.withResolvers<void>()]),
  );
  const late = new Set<string>();
  const asked = new AbortController();
  const sorted = Promise.withResolvers<void>();
  const settle = (id: string): void => {
    known.get(id)?.resolve();
    known.delete(id);
  };
  const done = learn(options, settle, { sorted: sorted.resolve, asked: asked.signal, signal: ending.signal })
    .catch((error: unknown) => {
      if (!ending.signal.aborted) options.logger.info({ reason: errorMessage(error) }, "schemas_not_read_from_types");
    })
    .finally(() => {
      for (const { resolve } of known.values()) resolve();
    });
  const learning = {
    done,
    stop: async () => {
      ending.abort();
      await done;
    },
    wait: async (id: string, signal: AbortSignal) => {
      const own = known.get(id)?.promise;
      if (own === undefined) return;
      void sorted.promise.then(() => {
        if (known.has(id)) asked.abort();
      });
      const timer = new AbortController();
      const limit = options.wait ?? maxWaitMs;
      const isLate = after(limit, true, { signal: timer.signal, ref: false }).catch(() => false);
      try {
        if (!(await unlessAborted(Promise.race([own.then(() => false), isLate]), signal))) return;
        // Logged once; further ones would say the same.
        if (late.has(id)) return;
        late.add(id);
        options.logger.warn({ graph_id: id, milliseconds: limit }, "schemas_not_read_in_time");
      } finally {
        timer.abort();
      }
    },
  };
  options.graphs.await(learning);
  return learning;
}

async function learn(
  { graphs, folder, cache, logger, read = readTypes, delay = 0 }: InferOptions,
  known: (id: string) => void,
  // `sorted` is called when everything that needs no compiler is known; `asked` is aborted when a request waits for the
  // rest.
  { sorted, asked, signal }: { sorted: () => void; asked: AbortSignal; signal: AbortSignal },
): Promise<void> {
  const untyped = await graphs.untyped();
  const ids = new Set(untyped.map(({ id }) => id));
  for (const id of graphs.ids()) if (!ids.has(id)) known(id);
  const wanted: { source: GraphSource; file: string }[] = [];
  for (const source of untyped) {
    const file = keptFile(cache, source);
    const kept = await readKept(file);
    if (kept === undefined) wanted.push({ source, file });
    else {
      graphs.learn(source.id, kept);
      known(source.id);
    }
  }
  if (wanted.length === 0) return;
  sorted();
  const quiet = AbortSignal.any([asked, signal]);
  await after(delay, undefined, { signal: quiet, ref: false }).catch(() => undefined);
  signal.throwIfAborted();
  await mkdir(cache, { recursive: true });
  const sources = wanted.map(({ source }) => source);
  const found = await read(sources, { folder, scratch: cache, signal });
  for (const { source, file } of wanted) {
    const schemas = found.get(source.id);
    if (schemas === undefined) {
      logger.info({ graph_id: source.id }, "schemas_not_read_from_types");
      continue;
    }
    graphs.learn(source.id, schemas);
    known(source.id);
    await keepTypes(file, schemas);
  }
}

/** Increase it when the reader's output changes: cached results are then discarded. */
const version = "1";

/** The cached schemas of a graph, with a content hash of each source file. */
const Kept = z.object({ files: z.record(z.string(), z.string()), schemas: TypeSchemas });

/** The cache file of a graph's types. */
function keptFile(cache: string, { path, name }: GraphSource): string {
  return join(cache, `${hashOf(`${version}\0${path}\0${name}`)}.json`);
}

/** The cached schemas in a file; `undefined` if missing or if a source has changed. */
async function readKept(file: string): Promise<TypeSchemas | undefined> {
  let kept: z.infer<typeof Kept>;
  try {
    kept = Kept.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    // Missing or incomplete: it is created again.
    return undefined;
  }
  const now = await hashesOf(Object.keys(kept.files));
  return Object.entries(kept.files).every(([source, hash]) => now[source] === hash) ? kept.schemas : undefined;
}

/** Caches a graph's schemas until one of its files changes. */
async function keepTypes(file: string, { files, ...schemas }: ReadTypes): Promise<void> {
  const kept: z.infer<typeof Kept> = { files: await hashesOf(files), schemas };
  await mkdir(dirname(file), { recursive: true });
  // Readers must never see a partial file.
  await writeFile(`${file}.new`, JSON.stringify(kept));
  await rename(`${file}.new`, file);
}

async function hashesOf(files: readonly string[]): Promise<Record<string, string>> {
  const all = files.map(async (file) => [file, await hashOfFile(file)] as const);
  return Object.fromEntries(await Promise.all(all));
}

async function hashOfFile(file: string): Promise<string> {
  try {
    return hashOf(await readFile(file));
  } catch {
    return "none";
  }
}

function hashOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}

/** Time limit of the compiler. */
const limitMilliseconds = 120_000;

/** The process's file: next to this one, with the same extension in sources or a bundle. */
const readerFile = join(
  import.meta.dirname,
  import.meta.filename.endsWith(".ts") ? "type-reader.ts" : "type-reader.js",
);

const Answer = z.array(ReadTypes.nullable());

/**
 * Runs the TypeScript compiler in a low-priority process to read schemas from types, for all graphs at once. Throws
 * `execution_failed` if it does not run, `timeout`, and `cancelled` on abort. `scratch` is a folder for temporary files.
 */
export async function readTypes(
  sources: readonly GraphSource[],
  { folder, scratch, signal }: { folder: string; scratch: string; signal: AbortSignal },
): Promise<Map<string, ReadTypes>> {
  const work = await mkdtemp(join(scratch, "types-"));
  try {
    const placed = await lendPackages(folder, work);
    const job: TypeJob = { work, graphs: sources.map(({ path, name }) => ({ path: placed(path), name })) };
    const [asked, answered] = [join(work, "job.json"), join(work, "answer.json")];
    await writeFile(asked, JSON.stringify(job));
    await runReader([asked, answered], work, signal);
    const answer = Answer.parse(JSON.parse(await readFile(answered, "utf8")));
    return new Map(
      sources.flatMap(({ id }, at): [string, ReadTypes][] => {
        const found = answer[at];
        // Report the files by their original names.
        const files = found?.files.map((file) => file.replace(join(work, "graphs"), folder)) ?? [];
        return found ? [[id, { ...found, files }]] : [];
      }),
    );
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/**
 * At run time, a folder without packages uses ours. The compiler resolves packages next to a module, so the folder is
 * linked under another name into one that has them. Returns the module's name there.
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
  const compiled = getCompileCacheDir?.();
  const child = spawn(process.execPath, [readerFile, ...files], {
    cwd: work,
    // The compiler needs nothing of the server's environment except a memory limit and node's code cache.
    env: { GOMEMLIMIT: "1GiB", ...(compiled !== undefined && { NODE_COMPILE_CACHE: dirname(compiled) }) },
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
  let output = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    output = `${output}${text}`.slice(0, 10_000);
  });
  const timer = setTimeout(end, limitMilliseconds);
  signal.addEventListener("abort", end, { once: true });
  try {
    const [code, killed] = z.tuple([z.number().nullable(), z.string().nullable()]).parse(await once(child, "exit"));
    if (signal.aborted) throw new AppError("cancelled", "The types of the graphs were not read to the end.");
    if (killed !== null)
      throw new AppError("timeout", `The compiler was not ready after ${limitMilliseconds / 1000} s.`);
    if (code !== 0) throw new AppError("execution_failed", reasonIn(output));
  } catch (error) {
    throw error instanceof AppError ? error : new AppError("execution_failed", errorMessage(error), { cause: error });
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    if (pid !== undefined) endGroup(pid);
  }
}

function reasonIn(output: string): string {
  return /^\w*Error.*$/mu.exec(output)?.[0] ?? "The compiler ended without an answer.";
}

/** Computes the schemas soon after the start: the first time takes a while. */
export function inferAhead(graphs: Graphs, config: Pick<Config, "graphs" | "dataDir">, logger: Logger): Learning {
  const cache = join(config.dataDir, "schemas");
  return inferSchemas({ graphs, folder: dirname(config.graphs), cache, logger, delay: quietStart });
}
