import { join, relative } from "node:path";

/** A path as people and models know it: relative to the workspace, or with `~` for the user's home. */
export function shownPath(path: string, { workspace, home }: { workspace: string; home: string }): string {
  const inWorkspace = relative(workspace, path);
  return inWorkspace.startsWith("..") ? join("~", relative(home, path)) : inWorkspace;
}
