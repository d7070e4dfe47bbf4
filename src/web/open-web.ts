import { withStoredKeys, type WebSettings } from "@millrace/engine/config/web-settings";
import { createWebPages, type WebPages } from "./read-page.ts";
import { createWebSearch, type WebSearch } from "./web-search.ts";

/** What of the web a run may use at this moment. */
export interface Web {
  /** `undefined`: nobody searches. */
  readonly search: WebSearch | undefined;
  /** `undefined`: no page is opened. */
  readonly pages: WebPages | undefined;
}

/**
 * The web as the operator has set it up, with the keys that are stored while the server runs. Nothing is asked before
 * somebody searches or opens a page.
 */
export function openWeb(settings: WebSettings, storedKeys: () => Readonly<Record<string, string>>): Web {
  const rules = { allowed: settings.allowed };
  const pages = createWebPages(rules);
  return {
    get search() {
      const { search } = withStoredKeys(settings, storedKeys());
      return search === undefined ? undefined : createWebSearch(search, rules);
    },
    get pages() {
      return withStoredKeys(settings, storedKeys()).opensPages ? pages : undefined;
    },
  };
}
