import { basename } from "node:path";
import type { DocumentSource } from "../../../src/context/documentation/documentation.ts";
import { ServiceKey } from "../../../src/tools/runtime/toolkit-services.ts";
import { externalTools, externalToolsRead } from "../prompts/external-tools.ts";
import { executeCommand } from "../tools/execute-command.ts";
import type { ExternalTool, ExternalToolSource } from "./tool-folders.ts";

/** The user's own programs. */
export const externalToolsKey = new ServiceKey<ExternalToolSource>("external_tools");

/** The user's own programs as documentation, for models with tools. */
export function externalToolsDocument(source: ExternalToolSource, workspace: string): DocumentSource {
  return {
    kind: "external_tools",
    point: "tools",
    async load(signal) {
      const { tools, folders, problems } = await source.load({ signal });
      return {
        kind: "external_tools",
        count: tools.length,
        problems: problems.length,
        render({ toolNames, before, prompts }) {
          if (before !== undefined || tools.length === 0 || toolNames.size === 0) return null;
          const how = toolNames.has(executeCommand.name)
            ? `Run them with ${executeCommand.name}.`
            : "You have no tool that runs commands: where one of these programs would help, tell the user the command.";
          const text = prompts.text(externalTools, {
            how,
            project: basename(workspace),
            path: workspace,
            count: tools.length,
            failed: problems.length === 0 ? null : problems.length,
            folders: folders.join(", "),
            tools: toolsText(tools),
          });
          return { text, acknowledgement: prompts.text(externalToolsRead, {}) };
        },
      };
    },
  };
}

/** The tools as text for the model: path, whether executable, and help. */
function toolsText(tools: readonly ExternalTool[]): string {
  return tools
    .map(({ name, extension, path, executable, help }) =>
      [`## ${name}${extension}`, `File: ${path}`, `Executable: ${executable ? "yes" : "no"}`, help].join("\n"),
    )
    .join("\n\n");
}
