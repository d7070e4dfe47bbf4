import { withStoredKeys, type WebSettings } from "@millrace/engine/config/web-settings";
import { ServiceKey } from "../../src/tools/runtime/toolkit-services.ts";
import type { ToolkitServer } from "../../src/toolkits/toolkit.ts";
import { createWebPages, type WebPages } from "./pages/read-page.ts";
import { createWebSearch, type WebSearch } from "./search/web-search.ts";

/** The configured parts of the web. */
export interface Web {
  /** `undefined`: no search engine is configured. */
  readonly search: WebSearch | undefined;
  /** `undefined`: pages may not be opened. */
  readonly pages: WebPages | undefined;
}

/** The web under the current settings. A run keeps the settings it started with. */
export const webKey = new ServiceKey<Web>("web");

/** Adds the web to the services, and replaces it when its settings change at run time. */
export function openWebToolkit({ settings: live, models, services }: ToolkitServer): undefined {
  let last: { settings: WebSettings; web: Web } | undefined;
  const current = (): Web => {
    const { web: settings } = live.current();
    if (last?.settings !== settings) last = { settings, web: openWeb(settings, () => models.storedKeys()) };
    return last.web;
  };
  const web: Web = {
    get search() {
      return current().search;
    },
    get pages() {
      return current().pages;
    },
  };
  services.add(webKey, web, current);
}

/** The web under these settings. `storedKeys` is read on every use, so that a new key applies at once. */
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
