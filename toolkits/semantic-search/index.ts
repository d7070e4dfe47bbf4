import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { semanticSearch } from "./tools/semantic-search.ts";
import { isAvailable, openWorkspaceIndex } from "./workspace-index/workspace-index.ts";

/** Semantic search of the workspace, if there is an embedding model. */
export const semanticSearchToolkit = defineToolkit({
  name: "semantic-search",
  title: { en: "Search by meaning", zh: "语义搜索" },
  description: {
    en: "Finds pieces of the workspace's files by what they mean.",
    zh: "按含义查找工作区文件中的片段。",
  },
  enabled: "default",
  tools: [semanticSearch],
  isAvailable,
  open: openWorkspaceIndex,
});
