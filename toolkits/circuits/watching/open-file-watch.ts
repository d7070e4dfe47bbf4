import type { ToolkitServer } from "../../../src/toolkits/toolkit.ts";
import type { FileChange } from "./file-changes.ts";
import { FileWatch } from "./file-watch.ts";

/**
 * The workspace's file watch, if enabled: followers get every change, and the next turns treat changed files as recent.
 * Not started yet.
 */
export function openFileWatch({
  config: { watchFiles },
  workspace,
  isEnabled,
  changedFiles,
  logger,
}: Pick<ToolkitServer, "config" | "workspace" | "isEnabled" | "changedFiles" | "logger">): FileWatch | undefined {
  if (watchFiles === "off" || (watchFiles === "auto" && !isEnabled)) return undefined;
  const onChange = (change: FileChange): void => {
    const path = change.event_type === "moved" ? change.dest_path : change.path;
    if (!change.is_directory) changedFiles?.record(path, Date.now());
  };
  return new FileWatch(workspace, { logger, onChange });
}
