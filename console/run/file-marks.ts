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
  /** What was deleted: a file, a folder or another kind of entry. */
  gone: ReadonlyMap<string, string>;
}

/** Marks for the files that a thread has changed or deleted, and for the folders that hold them. */
export function marksOf(changes: readonly FileChange[]): FileMarks {
  const files = new Map<string, { added: number | null; removed: number | null }>();
  const folders = new Map<string, number>();
  const gone = new Map<string, string>();
  for (const { path, before, after, lines_added: added, lines_removed: removed } of changes) {
    if (before === "absent" && after === "absent") continue;
    if (after === "absent") gone.set(path, before ?? "file");
    else files.set(path, { added, removed });
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const folder = path.slice(0, end);
      folders.set(folder, (folders.get(folder) ?? 0) + 1);
    }
  }
  return { files, folders, gone };
}

/** A row of a tree. */
export interface TreeRow {
  /** Of what lay in a folder that is gone too, its path from here on. */
  name: string;
  path: string;
  kind: string;
  isGone?: boolean;
}

/** The rows of a folder: its entries, and in their order what a thread has deleted there. */
export function rowsIn(folder: string, entries: readonly TreeRow[], marks: FileMarks | undefined): readonly TreeRow[] {
  const start = folder === "" ? 0 : folder.length + 1;
  const there = new Set(entries.map(({ name }) => name));
  const gone = [...(marks?.gone ?? [])].flatMap(([path, kind]): TreeRow[] => {
    const name = path.slice(start);
    const isHere = start === 0 || path.startsWith(`${folder}/`);
    return isHere && !there.has(name.split("/")[0] ?? "") ? [{ name, path, kind, isGone: true }] : [];
  });
  if (gone.length === 0) return entries;
  const isFolder = ({ kind }: TreeRow): number => Number(kind === "folder");
  return [...entries, ...gone].toSorted(
    (one, other) => isFolder(other) - isFolder(one) || one.name.localeCompare(other.name),
  );
}
