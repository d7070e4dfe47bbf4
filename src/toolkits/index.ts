import { addedToolkits } from "./added-toolkits.ts";
import { agents } from "./agents.ts";
import { circuits } from "../../toolkits/circuits/index.ts";
import { code } from "../../toolkits/code/index.ts";
import { conversation } from "./conversation.ts";
import { documents } from "../../toolkits/documents/index.ts";
import { files } from "./files.ts";
import { memory } from "../../toolkits/memory/index.ts";
import { planner } from "../../toolkits/planner/index.ts";
import { semanticSearchToolkit } from "../../toolkits/semantic-search/index.ts";
import { shell } from "../../toolkits/shell/index.ts";
import { libraryDocs } from "../../toolkits/library-docs/index.ts";
import { mcp } from "../../toolkits/mcp/index.ts";
import { web } from "../../toolkits/web/index.ts";
import type { Toolkit } from "./toolkit.ts";

/** The toolkits that come along. A new one is a folder and a line here. */
const own: readonly Toolkit[] = [
  files,
  documents,
  code,
  semanticSearchToolkit,
  libraryDocs,
  mcp,
  shell,
  planner,
  memory,
  conversation,
  agents,
  circuits,
  web,
];

/** Every toolkit, in the order in which models get their tools and their documents; those of langgraph.json last. */
export const toolkits: readonly Toolkit[] = [...own, ...(await addedToolkits(own))];
