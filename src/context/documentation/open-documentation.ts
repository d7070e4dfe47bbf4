import { homedir } from "node:os";
import type { Config } from "@millrace/engine/config/config";
import { createToolFolders, type ExternalToolSource } from "../../external-tools/tool-folders.ts";
import { createLibraries, type Libraries } from "../../library-docs/libraries.ts";
import type { Logger } from "@millrace/engine/logger";
import { createRuleFolders, type RuleSource } from "../../rules/rule-folders.ts";
import { rulesDocument } from "./documentation-rules.ts";
import { librariesDocument } from "./documentation-libraries.ts";
import { externalToolsDocument } from "./documentation-tools.ts";
import type { DocumentSource } from "./documentation.ts";

/** What a user gives models to read, for who looks at it and for the models. */
export interface Documentation {
  rules: RuleSource;
  externalTools: ExternalToolSource;
  libraries: Libraries;
  sources: readonly DocumentSource[];
}

/** Opens the documentation of a workspace. `builtInTools`: names that a user's tools cannot have. `home` is that of the user who runs the program. */
export function openDocumentation(
  {
    workspace,
    dataDir,
    toolHelp,
    home = homedir(),
  }: Pick<Config, "workspace" | "dataDir" | "toolHelp"> & { home?: string },
  builtInTools: readonly string[],
  logger: Pick<Logger, "warn">,
): Documentation {
  const rules = createRuleFolders({ workspace, home, logger });
  const houseTools = new Set(builtInTools);
  const runsHelp = toolHelp === "run";
  const externalTools = createToolFolders({ workspace, home, houseTools, runsHelp, logger });
  const libraries = createLibraries({ dataDir, workspace, logger });
  const sources = [librariesDocument(libraries), externalToolsDocument(externalTools, workspace), rulesDocument(rules)];
  return { rules, externalTools, libraries, sources };
}
