import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { openWebToolkit } from "./open.ts";
import { searchResults } from "./prompts/search-results.ts";
import { webSearchRoutes } from "./routes/web-search.ts";
import { searchAhead } from "./search/search-ahead.ts";
import { webTools } from "./tools/index.ts";

/** The public web, as configured by the operator. */
export const web = defineToolkit({
  name: "web",
  title: { en: "Web", zh: "网络" },
  description: {
    en: "Searches the web and opens its pages, where that has been set up.",
    zh: "在已配置的情况下搜索网络并打开网页。",
  },
  tools: Object.values(webTools),
  templates: [searchResults],
  enabled: "default",
  beforeTurn: searchAhead,
  open: openWebToolkit,
  routes: [webSearchRoutes],
  settingRequests: {
    GOOGLE_SEARCH_API_KEY: "PUT /web-search/google/key",
    BING_SEARCH_API_KEY: "PUT /web-search/bing/key",
  },
});
