import { type ChildProcess, spawn } from "node:child_process";
import { dirname } from "node:path";
import { environmentVariable } from "@millrace/engine/config/config";
import { endGroup, keepGroup } from "@millrace/engine/concurrency/process-group";

/** What programs are asked for their help with, one after the other. */
const requests = ["help", "-h", "--help"];

/** How long a program may take for each. */
const helpMilliseconds = 5000;

/**
 * The help that a program gives when it is asked; `null` when it gives none in time. It runs in its own folder without
 * input and with nothing of our environment but the search path; when it has answered, or its time is up, its whole
 * process group is ended. Never throws.
 */
export async function runHelp(
  file: string,
  signal: AbortSignal,
  milliseconds = helpMilliseconds,
): Promise<string | null> {
  for (const request of requests) {
    if (signal.aborted) return null;
    const said = await runOnce(file, request, AbortSignal.any([signal, AbortSignal.timeout(milliseconds)]));
    if (said !== null) return said;
  }
  return null;
}

async function runOnce(file: string, request: string, signal: AbortSignal): Promise<string | null> {
  const child = start(file, request);
  if (child === null) return null;
  const { promise, resolve } = Promise.withResolvers<number | null>();
  const out = gather(child.stdout);
  const err = gather(child.stderr);
  const leader = child.pid;
  if (leader !== undefined) keepGroup(leader);
  const giveUp = (): void => resolve(null);
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  child.once("error", giveUp);
  // What it has started must not hold its output open.
  child.once("exit", () => leader !== undefined && endGroup(leader));
  child.once("close", resolve);
  try {
    const code = await promise;
    const said = out().trim() === "" ? err().trim() : out().trim();
    return code === 0 && said !== "" ? said.slice(0, longestHelp).toWellFormed() : null;
  } finally {
    signal.removeEventListener("abort", giveUp);
    if (leader !== undefined) endGroup(leader);
    child.stdout?.destroy();
    child.stderr?.destroy();
  }
}

/** `spawn` throws some errors instead of emitting them, for example for a file that is open for writing. */
function start(file: string, request: string): ChildProcess | null {
  try {
    return spawn(file, [request], {
      cwd: dirname(file),
      env: { PATH: environmentVariable("PATH") ?? "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
  } catch {
    return null;
  }
}

/** Keeps the beginning of what comes; the rest is read and thrown away, so that the program is not held up. */
function gather(stream: ChildProcess["stdout"]): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on("data", (chunk: Buffer) => {
    if (bytes < longestHelp * 4) chunks.push(chunk);
    bytes += chunk.length;
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

/** Lines at the beginning of a file in which its help is looked for. */
const headLines = 50;
/** Characters of a help text that are kept. */
export const longestHelp = 4000;

const slashes = new Set([".js", ".go", ".rs"]);
const keywords = ["usage", "help", "description", "用法", "说明", "描述", "帮助"];
const opening = new RegExp(`(?:${keywords.join("|")})\\s*[:：]`, "iu");

/**
 * The help in the comments at the head of a program: from the first one with a word such as `Usage:` on, up to two
 * empty comments or the end of the comments. Empty when there is none.
 */
export function commentHelp(text: string, extension: string): string {
  const marks = extension === ".php" ? ["#", "//"] : slashes.has(extension) ? ["//"] : ["#"];
  const found: string[] = [];
  let empty = 0;
  for (const line of text.split("\n", headLines).map((whole) => whole.trim())) {
    const mark = line.startsWith("#!") ? undefined : marks.find((start) => line.startsWith(start));
    const comment = mark === undefined ? undefined : line.slice(mark.length).trim();
    if (comment === undefined) {
      if (found.length > 0 && !line.startsWith("#!")) break;
    } else if (found.length > 0 || opening.test(comment)) {
      empty = comment === "" ? empty + 1 : 0;
      if (empty === 2) break;
      found.push(comment);
    }
  }
  return found.join("\n").trim().slice(0, longestHelp).toWellFormed();
}
