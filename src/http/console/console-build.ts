import { createHash } from "node:crypto";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { access, constants, mkdir, mkdtemp, readdir, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Logger } from "@millrace/engine/logger";
import { programFolder } from "@millrace/engine/process/folders";

/**
 * The state of the console: built files in a folder, being built, or unavailable with a reason. `suggestion`: a remedy.
 */
export type ConsoleState =
  | { status: "ready"; folder: string }
  | { status: "building" }
  | { status: "failed"; reason: string; suggestion: string };

/** The built console of this program. */
export interface ConsoleBuild {
  /** Starts a build if needed, also after a failed one once the sources have changed; returns at once. */
  state(): Promise<ConsoleState>;
}

/** Timeout of a build in milliseconds: it takes seconds, but far more on a busy machine. */
const buildTimeoutMs = 180_000;
/** Maximum characters of a failed build in its error. */
const maxReasonLength = 2_000;
/** The remedy for sources that do not build. */
const mendSources = "Mend what is named above, or run “npm ci”, then load this page again; the build is tried again.";
/** Excluded from the build. */
const leftOut = /(^|\/)(node_modules|tests|dist)(\/|$)|\.md$/u;

/** Milliseconds between checks whether the server is idle. */
const idlePause = 1_000;

/** Builds before the first request, as soon as no run works. Returns a function that cancels the wait. */
export function buildWhenIdle(build: ConsoleBuild, isIdle: () => boolean): () => void {
  const timer = setInterval(() => {
    if (!isIdle()) return;
    clearInterval(timer);
    void build.state();
  }, idlePause);
  timer.unref();
  return () => clearInterval(timer);
}

/**
 * The console built from its sources by a child process and kept in `dist/console/<stamp>`. Without sources or build
 * packages, the output of `npm run build` is served.
 */
export function openConsoleBuild(logger: Logger, root: string = programFolder): ConsoleBuild {
  const build = join(root, "console", "build.ts");
  let known: Promise<ConsoleState> | undefined;
  /** The stamp of the sources whose build failed last. */
  let failed: string | undefined;

  const start = async (): Promise<ConsoleState> => {
    if (!canBuild(build)) {
      failed = "";
      // In a clone, in the package, and next to the bundle of `npm run build`.
      return builtBefore(["dist/console", "console", "../console"].map((folder) => join(root, folder)));
    }
    const stamp = await stampOf(root);
    const ready = join(root, "dist", "console", stamp);
    if (existsSync(join(ready, "index.html"))) return { status: "ready", folder: ready };
    const output = join(await outputFolder(root), stamp);
    const startedAt = performance.now();
    void runBuild(build, output).then(
      () => {
        known = Promise.resolve({ status: "ready", folder: output });
        logger.info({ milliseconds: Math.round(performance.now() - startedAt) }, "console_built");
      },
      (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        failed = stamp;
        known = Promise.resolve({ status: "failed", reason, suggestion: mendSources });
        logger.error({ reason }, "console_not_built");
      },
    );
    return { status: "building" };
  };
  /** The known state, or the start of another attempt. */
  const look = async (before: ConsoleState | undefined): Promise<ConsoleState> => {
    if (before?.status !== "failed") return before ?? start();
    const isSame = canBuild(build) && failed === (await stampOf(root));
    return isSame ? before : start();
  };
  return {
    state: () => (known = known === undefined ? start() : known.then(look)),
  };
}

/** Whether sources and bundler are installed; production images have neither. */
function canBuild(build: string): boolean {
  if (!existsSync(build)) return false;
  try {
    createRequire(build).resolve("vite");
    return true;
  } catch {
    return false;
  }
}

/** The hash of everything the build reads, and of the packages it uses. */
async function stampOf(root: string): Promise<string> {
  const hash = createHash("sha256");
  const names = await readdir(join(root, "console"), { recursive: true });
  const files = names.map((name) => name.replaceAll("\\", "/")).filter((name) => !leftOut.test(name));
  const paths = ["package-lock.json", ...files.toSorted().map((name) => `console/${name}`)];
  for (const path of paths) {
    const file = join(root, path);
    if (!(await stat(file)).isFile()) continue;
    hash.update(`${path}\0`);
    hash.update(await readFile(file));
  }
  return hash.digest("hex").slice(0, 16);
}

/** If the program's folder is read-only, each process builds into a temporary folder. */
async function outputFolder(root: string): Promise<string> {
  const usual = join(root, "dist", "console");
  try {
    await mkdir(usual, { recursive: true });
    await access(usual, constants.W_OK);
    return usual;
  } catch {
    return mkdtemp(join(tmpdir(), "millrace-console-"));
  }
}

/** The first of these folders with a release in it. */
function builtBefore(folders: readonly string[]): ConsoleState {
  const built = folders.map((folder) => join(folder, "release")).find((one) => existsSync(join(one, "index.html")));
  if (built !== undefined) return { status: "ready", folder: built };
  return {
    status: "failed",
    reason: "Neither the packages that build the console nor its built files are installed.",
    suggestion: "Run “npm ci”, then load this page again.",
  };
}

async function runBuild(build: string, output: string): Promise<void> {
  const words = [...process.execArgv.filter((word) => !/^--(watch|inspect|eval)/u.test(word)), build, output];
  const child = spawn(process.execPath, words, { stdio: ["ignore", "ignore", "pipe"], timeout: buildTimeoutMs });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors = (errors + text).slice(-maxReasonLength);
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once("error", reject);
  child.once("close", resolve);
  const code = await promise;
  if (code !== 0) throw new Error(errors.trim() === "" ? `The build ended with ${code ?? "a signal"}.` : errors.trim());
}
