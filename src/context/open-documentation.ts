import { homedir } from "node:os";
import type { Logger } from "../logger.ts";
import { createRuleFolders, type RuleSource } from "../rules/rule-folders.ts";
import { rulesDocument } from "./documentation-rules.ts";
import type { DocumentSource } from "./documentation.ts";

/** What a user gives models to read, for who looks at it and for the models. */
export interface Documentation {
  rules: RuleSource;
  sources: readonly DocumentSource[];
}

/** Opens the documentation of a workspace. `home` is that of the user who runs the program. */
export function openDocumentation(
  { workspace, home = homedir() }: { workspace: string; home?: string },
  logger: Pick<Logger, "warn">,
): Documentation {
  const rules = createRuleFolders({ workspace, home, logger });
  return { rules, sources: [rulesDocument(rules)] };
}
