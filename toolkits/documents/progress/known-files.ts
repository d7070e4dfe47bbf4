import { plainPath, type PastCall, type Turn } from "../../../src/guardrails/turn.ts";

/** A folder known from a listing. `checked`: it was listed, or cannot be; `whole`: its listing was complete. */
interface KnownFolder {
  checked: boolean;
  whole: boolean;
}

/** What this turn's results reveal about the workspace. Paths are normalised and relative; `.` is the workspace. */
export interface KnownFiles {
  files: Set<string>;
  folders: Map<string, KnownFolder>;
}

/** Folders whose content `list_files` omits: they need no check. */
const closedFolders = new Set([".git", "node_modules"]);

/** Signs of an incomplete listing, from the tool or the result limit. */
const cutMarks = /^\[(?:… cut: |(?:more than )?\d+ further entries are not shown)/u;

/** Replays the successful calls: listings show what exists, moves and deletions change it. */
export function knownFiles(turn: Turn): KnownFiles {
  const known: KnownFiles = { files: new Set(), folders: new Map() };
  for (const call of turn.rounds.flatMap(({ calls }) => calls)) {
    if (call.tool === "list_files" && call.outcome !== "open") applyListing(known, call);
    if (call.outcome !== "success") continue;
    if (call.tool === "delete_file" && call.path !== null) remove(known, call.path);
    if (call.tool === "rename_file" || call.tool === "move_file") applyMove(known, call);
  }
  return known;
}

/** A path's parent folder. */
export function parentOf(path: string): string {
  const end = path.lastIndexOf("/");
  return end === -1 ? "." : path.slice(0, end);
}

/** Whether a path is the folder or inside it. */
export function isWithin(path: string, folder: string): boolean {
  return folder === "." || path === folder || path.startsWith(`${folder}/`);
}

/** The target of `move_file` or `rename_file`. */
export function destinationOf(call: PastCall): string | null {
  const { destination, new_name: name } = call.args;
  if (typeof destination === "string") return plainPath(destination);
  if (typeof name !== "string" || call.path === null) return null;
  const parent = parentOf(call.path);
  return parent === "." ? name : `${parent}/${name}`;
}

function applyMove(known: KnownFiles, call: PastCall): void {
  const to = destinationOf(call);
  if (call.path === null || to === null) return;
  const from = call.path;
  if (known.files.delete(from)) {
    known.files.add(to);
    return;
  }
  const moved = [...known.files].filter((path) => isWithin(path, from));
  remove(known, from);
  for (const path of moved) known.files.add(to + path.slice(from.length));
}

function remove(known: KnownFiles, path: string): void {
  if (known.files.delete(path)) return;
  for (const file of known.files) if (isWithin(file, path)) known.files.delete(file);
  for (const folder of known.folders.keys()) if (isWithin(folder, path)) known.folders.delete(folder);
}

/** A folder that could not be listed counts as checked: another attempt would fail, too. */
function applyListing(known: KnownFiles, call: PastCall): void {
  const folder = call.path ?? ".";
  if (call.outcome !== "success") {
    if (known.folders.has(folder)) known.folders.set(folder, { checked: true, whole: false });
    return;
  }
  const lines = call.result.split("\n");
  const cut = lines.findIndex((line) => cutMarks.test(line));
  const isWhole = cut === -1;
  // The line before a cut may be an incomplete path.
  const isTorn = !isWhole && (lines[cut]?.startsWith("[… cut") ?? false);
  const entries = isWhole ? lines : lines.slice(0, isTorn ? cut - 1 : cut);
  const before = new Map(known.folders);
  if (isWhole) remove(known, folder);
  known.folders.set(folder, { checked: true, whole: isWhole });
  for (const entry of entries) addEntry(known, entry, folder, isWhole, before);
}

function addEntry(
  known: KnownFiles,
  entry: string,
  folder: string,
  isWhole: boolean,
  before: KnownFiles["folders"],
): void {
  const unreadable = entry.endsWith("/ (cannot be opened)");
  const path = plainPath(entry.replace(/\/(?: \(cannot be opened\))?$|@$/u, ""));
  if (!isWithin(path, folder) || path === folder || entry === "") return;
  if (!/\/(?: \(cannot be opened\))?$/u.test(entry)) {
    if (!entry.endsWith("@")) known.files.add(path);
    return;
  }
  const isClosed = path.split("/").some((name) => closedFolders.has(name));
  const whole = isWhole && !unreadable && !isClosed;
  const checked = isWhole || unreadable || isClosed;
  const earlier = before.get(path);
  known.folders.set(path, { checked: checked || earlier?.checked === true, whole: whole || earlier?.whole === true });
}
