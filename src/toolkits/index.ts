import { agents } from "./agents.ts";
import { circuits } from "../../toolkits/circuits/index.ts";
import { code } from "../../toolkits/code/index.ts";
import { conversation } from "./conversation.ts";
import { documents } from "./documents.ts";
import { files } from "./files.ts";
import { planner } from "../../toolkits/planner/index.ts";
import { shell } from "./shell.ts";
import type { Toolkit } from "./toolkit.ts";
import { web } from "./web.ts";

/** Every toolkit. A new one is a file and a line here. */
export const toolkits: readonly Toolkit[] = [
  // In the order in which models get their tools.
  files,
  documents,
  code,
  shell,
  planner,
  conversation,
  agents,
  circuits,
  web,
];
