import type { TaskVerdict } from "../../../src/guardrails/completion.ts";
import { destinationOf, isWithin, knownFiles, type KnownFiles } from "./known-files.ts";
import { filesInScope, scopeOf } from "./task-scope.ts";
import { everyFolder, sorting, wantsContent } from "./task-words.ts";
import type { PastCall, Turn } from "../../../src/guardrails/turn.ts";

/** Not a multi-step task. */
export const noTask: TaskVerdict = { task: null, verdict: "none", done: 0, total: 0, remaining: [], failed: [] };

/** Files to move or sort, compared with those already moved. */
export function movingProgress(turn: Turn): TaskVerdict {
  const calls = callsOf(turn);
  const moves = calls.filter((call) => call.tool === "move_file" && call.path !== null);
  if (moves.length === 0) return noTask;
  const known = knownFiles(turn);
  const isSorting = calls.some(({ tool }) => tool === "create_folder") && sorting.test(turn.userRequest);
  const { done, failed, open } = attempts(moves);
  const settled = [...done, ...failed];
  const scope = filesInScope(scopeOf(turn.userRequest, isSorting), known, [...settled, ...open]);
  const remaining = [...new Set([...scope.files, ...open])].filter(
    (path) => !settled.some((other) => isWithin(path, other) || sameName(path, other, known)),
  );
  return verdictOf(isSorting ? "classification" : "file_move", [...done], remaining, [...failed], scope.isWhole);
}

/** Folders to check, compared with those already listed. */
export function checkingProgress(turn: Turn): TaskVerdict {
  const isRequested = everyFolder.some((words) => words.test(turn.userRequest));
  if (!isRequested || !callsOf(turn).some(({ tool }) => tool === "list_files")) return noTask;
  const { folders } = knownFiles(turn);
  const paths = [...folders.keys()].filter((path) => path !== ".");
  const named = paths.filter((path) => namesFolder(turn.userRequest, path));
  const isMeant = (path: string): boolean => named.length === 0 || named.some((folder) => isWithin(path, folder));
  const meant = paths.filter(isMeant);
  const done = meant.filter((path) => folders.get(path)?.checked === true);
  const remaining = meant.filter((path) => folders.get(path)?.checked !== true);
  return verdictOf("recursive_check", done, remaining, [], true);
}

/** Files that were read, if their content is to be reported. */
export function readingProgress(turn: Turn): TaskVerdict {
  const read = filesRead(turn);
  if (read.length === 0) return noTask;
  const done = new Set(read.map(({ path }) => path)).size;
  const verdict = wantsContent.test(turn.userRequest) ? "completed" : "none";
  return { ...noTask, task: "reading", verdict, done, total: done };
}

/** The calls that read a file. */
export function filesRead(turn: Turn): PastCall[] {
  return callsOf(turn).filter(({ tool, outcome }) => tool === "read_file" && outcome === "success");
}

function callsOf(turn: Turn): PastCall[] {
  return turn.rounds.flatMap(({ calls }) => calls);
}

/** A multi-step task has at least two items; one needs no counting. */
function verdictOf(
  task: NonNullable<TaskVerdict["task"]>,
  done: string[],
  remaining: string[],
  failed: string[],
  isWhole: boolean,
): TaskVerdict {
  const total = done.length + remaining.length + failed.length;
  if (total < 2) return noTask;
  const isComplete = isWhole && failed.length === 0;
  const verdict = remaining.length > 0 ? "incomplete" : isComplete ? "completed" : "none";
  return { task, verdict, done: done.length, total, remaining, failed };
}

/** The outcome per source. A refusal by a person or a rule counts as an attempt: it is not requested again. */
function attempts(moves: readonly PastCall[]): { done: Set<string>; failed: Set<string>; open: Set<string> } {
  const [done, failed, open] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const arrived = new Set<string>();
  for (const call of moves) {
    const from = call.path ?? "";
    // A second move of the same file.
    if (arrived.has(from)) continue;
    if (call.outcome === "success") {
      done.add(from);
      const to = destinationOf(call);
      if (to !== null) arrived.add(to);
    } else if (call.outcome === "open") open.add(from);
    else failed.add(from);
  }
  for (const path of done) {
    failed.delete(path);
    open.delete(path);
  }
  for (const path of failed) open.delete(path);
  return { done, failed, open };
}

/** A request may name a file without its folder. Files of the same name are distinguished if listings show both. */
function sameName(wanted: string, settled: string, known: KnownFiles): boolean {
  return !wanted.includes("/") && !known.files.has(wanted) && settled.endsWith(`/${wanted}`);
}

function namesFolder(request: string, path: string): boolean {
  const escaped = path.replace(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`);
  return new RegExp(String.raw`(?<![\w./-])${escaped}(?![\w-]|/\w)`, "iu").test(request);
}
