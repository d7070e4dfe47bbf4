import { webCrawl } from "./web-crawl.ts";
import { webFetch } from "./web-fetch.ts";
import { webSearch } from "./web-search.ts";

/** The web tools by name. */
export const webTools = {
  web_search: webSearch,
  web_fetch: webFetch,
  web_crawl: webCrawl,
};
