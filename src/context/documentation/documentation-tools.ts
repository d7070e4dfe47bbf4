import { basename } from "node:path";
import { type ExternalToolSource, toolsText } from "../../external-tools/tool-folders.ts";
import { externalTools, externalToolsRead } from "../../prompts/templates/external-tools.ts";
import type { DocumentSource } from "./documentation.ts";

/** The tool that runs commands, where there is one. */
const commandTool = "execute_command";

/** The user's own programs as documentation: for a model that has tools, since it is to work with them. */
export function externalToolsDocument(source: ExternalToolSource, workspace: string): DocumentSource {
  return {
    kind: "external_tools",
    async load(signal) {
      const { tools, folders, problems } = await source.load({ signal });
      return {
        kind: "external_tools",
        count: tools.length,
        problems: problems.length,
        tell({ toolNames, prompts }) {
          if (tools.length === 0 || toolNames.size === 0) return null;
          const how = toolNames.has(commandTool)
            ? `Run them with ${commandTool}.`
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
