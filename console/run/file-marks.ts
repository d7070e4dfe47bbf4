/** What a thread has come to for a file. */
export interface FileChange {
  path: string;
  /** What is there now. */
  after: string | null;
  before: string | null;
  lines_added: number | null;
  lines_removed: number | null;
}

/** What a tree says of its entries: of a file what became of it, of a folder how many files in it have changed. */
export interface FileMarks {
  files: ReadonlyMap<string, { added: number | null; removed: number | null }>;
  folders: ReadonlyMap<string, number>;
}

/** Marks for the files that a thread has changed, and for the folders that hold them, also where a file is gone. */
export function marksOf(changes: readonly FileChange[]): FileMarks {
  const files = new Map<string, { added: number | null; removed: number | null }>();
  const folders = new Map<string, number>();
  for (const { path, before, after, lines_added: added, lines_removed: removed } of changes) {
    if (before === "absent" && after === "absent") continue;
    if (after !== "absent") files.set(path, { added, removed });
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const folder = path.slice(0, end);
      folders.set(folder, (folders.get(folder) ?? 0) + 1);
    }
  }
  return { files, folders };
}
