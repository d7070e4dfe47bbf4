import type { SearchEngineName } from "@millrace/engine/config/web-settings";
import { bingSearch } from "./bing-search.ts";
import { googleSearch } from "./google-search.ts";
import type { SearchEngine } from "./search-engine.ts";
import { searxngSearch } from "./searxng-search.ts";

/** Every engine of the general search, by the name in `MILLRACE_SEARCH`. */
export const searchEngines: Readonly<Record<SearchEngineName, SearchEngine>> = {
  google: googleSearch,
  bing: bingSearch,
  searxng: searxngSearch,
};
