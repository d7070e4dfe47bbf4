import { z } from "zod";
import { searchResultsText } from "@millrace/models/messages/search-result";
import { maxPages, defaultPages } from "../search/web-search.ts";
import { failure, success } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { webKey } from "../open.ts";
import { dataFromOutside, searching, webSeconds } from "./web-text.ts";

/** Searches the web with the server's engine. */
export const webSearch = defineTool({
  name: "web_search",
  description:
    "Searches the public web and gives pages with title, summary, address and date. Use it for what is newer than you are, or " +
    "that you do not know; open a page with web_fetch to read it. Name the addresses of what you use.",
  schema: z.object({
    query: z
      .string()
      .trim()
      .min(1)
      .max(400)
      .describe("what to search for: a few keywords, in the language of the pages"),
    max_results: z.number().int().min(1).max(maxPages).optional().describe(`pages at most; default ${defaultPages}`),
  }),
  effect: "pure",
  timeoutSeconds: webSeconds,
  offered: {
    isAvailable: (services) => services.find(webKey)?.search !== undefined,
    isLeftOut: ({ web_search }) => web_search === "provider" || web_search === "off",
  },
  resources: (_, context) => searching(context),
  run: async ({ query, max_results }, { toolkitServices, signal }) => {
    const search = toolkitServices.find(webKey)?.search;
    if (search === undefined) {
      const advice = "Tell the user; GET /web-search says how it is done.";
      return { ...failure("config", "No search engine is set up here.", advice), message_zh: "尚未设置搜索引擎。" };
    }
    const results = await search.search(query, signal, max_results);
    if (results.length === 0) {
      const message = `${search.title} found nothing for "${query}".`;
      return {
        ...failure("empty_result", message, "Search with other keywords."),
        message_zh: `${search.title} 没有找到与“${query}”相关的网页。`,
      };
    }
    const content = `${dataFromOutside}\n\n${searchResultsText(results)}`;
    return success(`${results.length} ${results.length === 1 ? "page" : "pages"} for "${query}".`, {
      content,
      data: { results },
      message_zh: `找到 ${results.length} 个与“${query}”相关的网页。`,
    });
  },
  example: { title: "What is new", body: '{"query": "LangGraph.js release notes", "max_results": 3}' },
});
