/** How far a task is, in one sentence or two: stands before a forced continuation. */
export function progressText({
  task,
  done,
  total,
  failed,
}: {
  task: "file_move" | "recursive_check" | "classification" | "reading";
  done: number;
  total: number;
  failed: readonly string[];
}): string {
  const words = { file_move: "moved", recursive_check: "checked", classification: "sorted", reading: "read" };
  const things = task === "recursive_check" ? "folders" : "files";
  const inVain = failed.length === 0 ? "" : ` ${failed.length} could not be ${words[task]}.`;
  return `Progress: ${done} of ${total} ${things} are ${words[task]}.${inVain}`;
}

/** The first names of a list, and how many more there are. */
export function namesText(names: readonly string[]): string {
  const shown = names.slice(0, 20).join(", ");
  return names.length > 20 ? `${shown} and ${names.length - 20} more` : shown;
}
