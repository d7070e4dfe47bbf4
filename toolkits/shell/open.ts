import { hiddenPlaces } from "@millrace/engine/process/folders";
import type { OpenedToolkit, ToolkitServer } from "../../src/toolkits/toolkit.ts";
import { Shell, shellKey } from "./commands/shell.ts";
import { createToolFolders } from "./external-tools/tool-folders.ts";
import { externalToolsDocument, externalToolsKey } from "./external-tools/tools-document.ts";

/**
 * Opens the shell and the list of the user's own programs. Models read that list on every server: if commands are off,
 * they can tell the user what to run.
 */
export function openShell(server: ToolkitServer): OpenedToolkit {
  const { config, workspace, home, toolNames, logger, services, storage } = server;
  const hasOtherServers = (): boolean => (storage.cluster?.serverCount ?? 1) > 1;
  const shell = new Shell({ sandbox: config.sandbox, hidden: hiddenPlaces(config), hasOtherServers });
  const runsHelp = config.toolHelp === "run";
  const externalTools = createToolFolders({ workspace, home, toolNames, runsHelp, logger });
  services.add(shellKey, shell).add(externalToolsKey, externalTools);
  return {
    documents: [externalToolsDocument(externalTools, workspace)],
    forget: (sessionId) => shell.forget(sessionId),
    close: () => shell.close(),
  };
}
