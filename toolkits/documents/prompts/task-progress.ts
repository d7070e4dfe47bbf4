/** The states of a task's files. */
const words: Readonly<Record<string, string>> = {
  file_move: "moved",
  recursive_check: "checked",
  classification: "sorted",
  reading: "read",
};

/** A task's progress in one or two sentences; precedes a forced continuation. */
export function progressText({
  task,
  done,
  total,
  failed,
}: {
  task: string;
  done: number;
  total: number;
  failed: readonly string[];
}): string {
  const word = words[task] ?? "done";
  const things = task === "recursive_check" ? "folders" : "files";
  const inVain = failed.length === 0 ? "" : ` ${failed.length} could not be ${word}.`;
  return `Progress: ${done} of ${total} ${things} are ${word}.${inVain}`;
}

/** The first names of a list, and the number of others. */
export function namesText(names: readonly string[]): string {
  const shown = names.slice(0, 20).join(", ");
  return names.length > 20 ? `${shown} and ${names.length - 20} more` : shown;
}
