/** Identifies a file's state. Times are nanoseconds since 1970. */
export interface FileState {
  isFolder: boolean;
  /** Device and inode, which survive a move. */
  id: string;
  born: bigint;
  modified: bigint;
  size: bigint;
}

/** One change of the workspace. Paths are relative to it, with slashes. */
export type FileChange =
  | { path: string; event_type: "created" | "modified" | "deleted"; is_directory: boolean }
  | { path: string; event_type: "moved"; is_directory: boolean; dest_path: string };

/**
 * The changes of the given paths: `before` is their known state, `after` the current one (`undefined`: missing). A
 * missing and a new path with the same file are one move. Sorted by path, so that a folder precedes its contents.
 */
export function changesBetween(
  before: ReadonlyMap<string, FileState>,
  after: ReadonlyMap<string, FileState | undefined>,
): FileChange[] {
  const looked = [...after].toSorted(([left], [right]) => (left < right ? -1 : 1));
  const gone = new Map<string, { path: string; state: FileState }[]>();
  for (const [path, now] of looked) {
    const state = before.get(path);
    if (state !== undefined && now === undefined) gone.set(state.id, [...(gone.get(state.id) ?? []), { path, state }]);
  }
  const changes: FileChange[] = [];
  const moved = new Set<string>();
  for (const [path, now] of looked) {
    if (now === undefined) continue;
    const known = before.get(path);
    const is_directory = now.isFolder;
    if (known !== undefined && known.isFolder === now.isFolder) {
      if (!is_directory && !isSameState(known, now)) changes.push({ path, event_type: "modified", is_directory });
      continue;
    }
    if (known !== undefined) changes.push({ path, event_type: "deleted", is_directory: known.isFolder });
    const from = gone.get(now.id)?.find(({ path: old, state }) => !moved.has(old) && isSameFile(state, now));
    if (from === undefined) changes.push({ path, event_type: "created", is_directory });
    else {
      moved.add(from.path);
      changes.push({ path: from.path, event_type: "moved", is_directory, dest_path: path });
    }
  }
  for (const { path, state } of [...gone.values()].flat()) {
    if (!moved.has(path)) changes.push({ path, event_type: "deleted", is_directory: state.isFolder });
  }
  return changes.toSorted((left, right) => (left.path < right.path ? -1 : left.path > right.path ? 1 : 0));
}

function isSameState(left: FileState, right: FileState): boolean {
  return left.id === right.id && left.modified === right.modified && left.size === right.size;
}

/** A deleted file's inode is reused by the next one: times and size tell them apart. */
function isSameFile(left: FileState, right: FileState): boolean {
  if (left.id !== right.id || left.isFolder !== right.isFolder) return false;
  return left.born === right.born || (left.modified === right.modified && left.size === right.size);
}
