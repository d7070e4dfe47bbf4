import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { environmentVariable } from "@millrace/engine/config/config";
import { AppError, errorMessage, hasCode } from "@millrace/engine/errors/errors";
import { endGroup, keepGroup } from "@millrace/engine/concurrency/process-group";

/** Protocols for reaching a repository. */
export type Protocol = "https" | "file";

/** Time limit of a clone. */
const cloneMilliseconds = 120_000;
/** Milliseconds between checks of its size. */
const lookEvery = 250;
/** Maximum characters of git's error message that are passed on. */
const maxErrorLength = 500;

/** A valid repository address. Throws `invalid_parameter` for another protocol, and for one with a password. */
export function repositoryAddress(text: string, protocols: readonly Protocol[]): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isAllowed = url !== undefined && protocols.some((protocol) => url.protocol === `${protocol}:`);
  if (isAllowed && url.username === "" && url.password === "") return text;
  const what = isAllowed ? "an address that holds a user or a password" : JSON.stringify(text.slice(0, 200));
  throw new AppError(
    "invalid_parameter",
    `Expected the address of a repository by ${protocols.join(" or ")}, got ${what}.`,
    { suggestion: "Give an address such as https://github.com/allwefantasy/llm_friendly_packages." },
  );
}

/** Allowed protocols, and size limits of the newest state. */
export interface CloneOptions {
  protocols: readonly Protocol[];
  signal: AbortSignal;
  /** Default: `cloneLimits`. */
  limits?: CloneLimits | undefined;
}

/** The result of a clone: git's exit code, or why it was aborted. */
type Ended = number | "stopped" | Error;

/**
 * Shallow-clones a repository into a new folder with `git`: without prompts, hooks, links and machine settings, and
 * only over the given protocols, also after redirects. Throws `network` with git's message, `timeout`, `cancelled`,
 * `too_large`, or `execution_failed` without git.
 */
export async function cloneRepository(
  url: string,
  folder: string,
  { protocols, signal, limits = cloneLimits }: CloneOptions,
): Promise<void> {
  const settings = ["-c", "core.symlinks=false", "-c", "core.hooksPath=/dev/null"];
  const clone = ["clone", "--quiet", "--depth", "1", "--single-branch", "--no-tags", "--template=", "--", url, folder];
  const child = spawn("git", [...settings, ...clone], {
    env: environment(protocols),
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  const leader = child.pid;
  if (leader !== undefined) keepGroup(leader);
  const inTime = AbortSignal.any([signal, AbortSignal.timeout(cloneMilliseconds)]);
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => {
    complaint = (complaint + chunk.toString("utf8")).slice(0, maxErrorLength);
  });
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const stop = (): void => resolve("stopped");
  inTime.addEventListener("abort", stop, { once: true });
  if (inTime.aborted) stop();
  child.once("error", resolve);
  child.once("close", (code) => resolve(code ?? -1));
  const watching = new AbortController();
  const watched = watchSize(folder, { url, limits }, watching.signal);
  watched.catch(resolve);
  try {
    const ended = await promise;
    watching.abort();
    await watched;
    if (ended !== 0) throw failure(ended, { url, complaint: complaint.trim(), isCancelled: signal.aborted });
  } finally {
    watching.abort();
    inTime.removeEventListener("abort", stop);
    if (leader !== undefined) endGroup(leader);
    child.stderr.destroy();
  }
}

/** Checks the size of a clone at intervals, and once more at the end. Throws `too_large`. */
async function watchSize(
  folder: string,
  { url, limits }: { url: string; limits: CloneLimits },
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    const isLast = signal.aborted;
    const what = await tooLarge(folder, limits);
    if (what !== undefined) {
      throw new AppError("too_large", `The repository ${url} has ${what}.`, {
        suggestion: "Choose a repository that holds documentation alone.",
      });
    }
    if (isLast) return;
    await sleep(lookEvery, undefined, { signal }).catch(() => undefined);
  }
}

function failure(
  ended: Ended,
  { url, complaint, isCancelled }: { url: string; complaint: string; isCancelled: boolean },
): AppError {
  if (ended instanceof Error) {
    const suggestion = "Install git on the machine of the server.";
    return new AppError("execution_failed", "The program git could not be started.", { suggestion, cause: ended });
  }
  if (isCancelled) return new AppError("cancelled", "The clone was cancelled.");
  if (ended === "stopped") {
    return new AppError("timeout", `Cloning ${url} took more than ${cloneMilliseconds / 1000} seconds.`);
  }
  return new AppError("network", `The repository ${url} could not be cloned: ${complaint}`, {
    suggestion: "Look whether the address is right and can be reached, or choose another repository.",
    recoverable: true,
  });
}

/** Passes only the search path and proxy settings. */
function environment(protocols: readonly Protocol[]): Record<string, string> {
  const passed = ["PATH", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"].flatMap((name) => {
    const value = environmentVariable(name);
    return value === undefined ? [] : [[name, value]];
  });
  return {
    ...Object.fromEntries(passed),
    LC_ALL: "C",
    GIT_ALLOW_PROTOCOL: protocols.join(":"),
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "false",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
  };
}

/** Disk limits of a clone: bytes, including git's data, and files and folders. */
export interface CloneLimits {
  bytes: number;
  files: number;
}

/** Far more than any documentation for models. */
export const cloneLimits: CloneLimits = { bytes: 512 * 1024 * 1024, files: 50_000 };

/**
 * Which limit a folder exceeds, if any. Stops at the limits. Files that vanish meanwhile are ignored: git moves its
 * files around.
 */
export async function tooLarge(folder: string, limits: CloneLimits): Promise<string | undefined> {
  let [bytes, files] = [0, 0];
  const open = [folder];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    for (const entry of await readdir(place, { withFileTypes: true }).catch(unlessGone([]))) {
      const path = join(place, entry.name);
      if (entry.isDirectory()) open.push(path);
      else bytes += (await lstat(path).catch(unlessGone({ size: 0 }))).size;
      files += 1;
      if (bytes > limits.bytes) return `more than ${limits.bytes} bytes`;
      if (files > limits.files) return `more than ${limits.files} files and folders`;
    }
  }
  return undefined;
}

function unlessGone<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (hasCode(error, "ENOENT")) return value;
    throw new Error(`The size of a clone could not be measured: ${errorMessage(error)}`, { cause: error });
  };
}
