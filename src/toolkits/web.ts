import { searchResults } from "../prompts/templates/search-results.ts";
import { webTools } from "../tools/index.ts";
import { defineToolkit } from "./toolkit.ts";

/** The public web, as far as the operator has set it up. */
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
});
