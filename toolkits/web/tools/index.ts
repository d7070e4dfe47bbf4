import { webCrawl } from "./web-crawl.ts";
import { webFetch } from "./web-fetch.ts";
import { webSearch } from "./web-search.ts";

/** The tools of the public web, by the name that models call. */
export const webTools = {
  web_search: webSearch,
  web_fetch: webFetch,
  web_crawl: webCrawl,
};
