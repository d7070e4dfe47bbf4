import { type ChildProcess, spawn } from "node:child_process";
import { dirname } from "node:path";
import { environmentVariable } from "@millrace/engine/config/config";
import { endGroup, keepGroup } from "@millrace/engine/concurrency/process-group";

/** Arguments tried for help, in order. */
const requests = ["help", "-h", "--help"];

/** Time limit for each. */
const helpMilliseconds = 5000;

/**
 * A program's help output; `null` if there is none in time. It runs in its own folder without input and with only the
 * search path; afterwards its whole process group is killed. Never throws.
 */
export async function runHelp(
  file: string,
  signal: AbortSignal,
  milliseconds = helpMilliseconds,
): Promise<string | null> {
  for (const request of requests) {
    if (signal.aborted) return null;
    const output = await runOnce(file, request, AbortSignal.any([signal, AbortSignal.timeout(milliseconds)]));
    if (output !== null) return output;
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
  // Its children must not keep its output open.
  child.once("exit", () => leader !== undefined && endGroup(leader));
  child.once("close", resolve);
  try {
    const code = await promise;
    const output = out().trim() === "" ? err().trim() : out().trim();
    return code === 0 && output !== "" ? output.slice(0, maxHelpLength).toWellFormed() : null;
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

/** Keeps the beginning of the output and drains the rest, so that the program is not blocked. */
function gather(stream: ChildProcess["stdout"]): () => string {
  const chunks: Buffer[] = [];
  let bytes = 0;
  stream?.on("data", (chunk: Buffer) => {
    if (bytes < maxHelpLength * 4) chunks.push(chunk);
    bytes += chunk.length;
  });
  return () => Buffer.concat(chunks).toString("utf8");
}

/** Lines at a file's start that are searched for help. */
const headLines = 50;
/** Maximum characters of a help text. */
export const maxHelpLength = 4000;

const slashes = new Set([".js", ".go", ".rs"]);
const keywords = ["usage", "help", "description", "用法", "说明", "描述", "帮助"];
const opening = new RegExp(`(?:${keywords.join("|")})\\s*[:：]`, "iu");

/**
 * The help in a program's leading comments: from the first one with a word such as `Usage:` up to two empty comments or
 * their end. Empty if there is none.
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
  return found.join("\n").trim().slice(0, maxHelpLength).toWellFormed();
}
