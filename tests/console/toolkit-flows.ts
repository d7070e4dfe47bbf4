import { glob } from "node:fs/promises";
import { join } from "node:path";
import type { ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../support/source-files.ts";
import type { Stage } from "./console-page.ts";
import type { Person } from "./person.ts";

/** What a flow of a toolkit works with. */
export interface FlowParts {
  stage: () => Stage;
  /** The key of the one who is signed in. */
  key: string;
  /** Where the model waits, and what lets it go on. */
  held: () => Promise<void>;
  goOn: () => void;
}

/** What people do with a toolkit in the console, and what the scripted model does for them. */
export interface ToolkitFlows {
  /** Its next step by what was asked last and how many calls were answered since; `undefined`: it is none of its business. */
  answer?: (last: string, results: number) => ModelStep | undefined;
  flows: Record<string, (one: Person) => Promise<void>>;
}

/** The flows of the toolkits of this copy: `toolkits/<name>/tests/console/flows.ts`. A toolkit that is deleted takes its own along. */
export async function flowsOfToolkits(parts: FlowParts): Promise<ToolkitFlows[]> {
  const files = await Array.fromAsync(glob("toolkits/*/tests/console/flows.ts", { cwd: projectFolder }));
  return await Promise.all(
    files.toSorted().map(async (file) => {
      // Such a file exports `consoleFlows`.
      const module = (await import(join(projectFolder, file))) as { consoleFlows: (parts: FlowParts) => ToolkitFlows };
      return module.consoleFlows(parts);
    }),
  );
}
