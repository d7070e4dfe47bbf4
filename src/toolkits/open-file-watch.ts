import type { Config } from "@millrace/engine/config/config";
import type { ChangedFiles } from "../context/workspace/changed-files.ts";
import type { Logger } from "@millrace/engine/logger";
import type { FileChange } from "../watching/file-changes.ts";
import { FileWatch } from "../watching/file-watch.ts";
import { circuits } from "../../toolkits/circuits/index.ts";
import type { Toolkit } from "./toolkit.ts";

/** What a watch of the workspace needs of what runs are lent. */
interface Watched {
  workspace: string;
  toolkits?: readonly Toolkit[];
  changedFiles?: ChangedFiles;
}

/**
 * The watch of the workspace, where there is to be one: what anybody changes is told, and known to the next turns as recent. It has not begun.
 */
export function openFileWatch(
  { watchFiles }: Pick<Config, "watchFiles">,
  { workspace, toolkits = [], changedFiles }: Watched,
  logger: Logger,
): FileWatch | undefined {
  if (watchFiles === "off" || (watchFiles === "auto" && !toolkits.includes(circuits))) return undefined;
  const onChange = (change: FileChange): void => {
    const path = change.event_type === "moved" ? change.dest_path : change.path;
    if (!change.is_directory) changedFiles?.note(path, Date.now());
  };
  return new FileWatch(workspace, { logger, onChange });
}
