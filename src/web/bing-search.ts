import { z } from "zod";
import type { SearchEngine } from "./search-engine.ts";

const Found = z.object({
  webPages: z
    .looseObject({
      value: z
        .array(
          z.looseObject({
            name: z.string().optional(),
            url: z.string().optional(),
            snippet: z.string().optional(),
            datePublished: z.string().optional(),
            dateLastCrawled: z.string().optional(),
          }),
        )
        .default([]),
    })
    .optional(),
});

/** Bing's Web Search API 7, or a service that speaks it at an address of its own. */
export const bingSearch: SearchEngine = {
  title: "Bing Web Search",
  request(query, count, { address, apiKey = "" }) {
    const url = new URL(address);
    url.searchParams.set("q", query);
    url.searchParams.set("count", String(count));
    return { address: url.href, headers: { "ocp-apim-subscription-key": apiKey } };
  },
  read(body) {
    const read = Found.safeParse(body).data;
    return read?.webPages === undefined
      ? read && []
      : read.webPages.value.map(({ name, url, snippet, datePublished, dateLastCrawled }) => ({
          title: name,
          url,
          snippet,
          date: datePublished ?? dateLastCrawled,
        }));
  },
  help: {
    en: [
      "Sign in at https://portal.azure.com, create a resource Bing Search v7 and take a key from its page Keys and Endpoint.",
      "Set BING_SEARCH_API_KEY to it, or store it with PUT /web-search/bing/key; 1,000 searches a month are free where the plan still has them.",
      "Another service that speaks the same protocol is used by setting BING_SEARCH_URL.",
    ],
    zh: [
      "登录 https://portal.azure.com，创建 Bing Search v7 资源，并在“密钥和终结点”页面获取密钥。",
      "将 BING_SEARCH_API_KEY 设为该密钥，或用 PUT /web-search/bing/key 保存；在仍提供免费层的方案中，每月可免费查询 1000 次。",
      "如使用支持相同协议的其他服务，请设置 BING_SEARCH_URL。",
    ],
  },
};
