import { expect } from "vitest";
import type { FlowParts, ToolkitFlows } from "../../../../tests/console/toolkit-flows.ts";

/** What people do with web search in the console. */
export function consoleFlows({ stage, key }: FlowParts): ToolkitFlows {
  const ask = async (): Promise<string> =>
    (await stage().server.send("GET", "/web-search", undefined, { "x-api-key": key })).text();
  return {
    flows: {
      "give a search engine its key, and take it back": async (one) => {
        const { models } = one.words.manage;
        const { page } = one.tab;
        await one.go("/web-search");
        const bing = page.locator("section", { hasText: "BING_SEARCH_API_KEY" });
        await one.use(models.setKey, true);
        await one.write(models.setKey, "a-key-that-no-page-shows-9c1e");
        await one.use(models.saveKey);
        await bing.getByText("…9c1e").waitFor();
        expect(await page.content()).not.toContain("no-page-shows");
        expect(await ask()).toMatch(/"name":"BING_SEARCH_API_KEY","is_set":true,"source":"file"/u);
        await one.use(models.forgetKey);
        await one.use(models.forgetKey, true);
        await bing.getByText("…9c1e").waitFor({ state: "detached" });
        expect(await ask()).not.toContain('"source":"file"');
      },
    },
  };
}
