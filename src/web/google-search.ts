import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import type { SearchEngine } from "./search-engine.ts";

const Found = z.object({
  items: z
    .array(
      z.looseObject({
        title: z.string().optional(),
        link: z.string().optional(),
        snippet: z.string().optional(),
        pagemap: z
          .looseObject({ metatags: z.array(z.record(z.string(), z.unknown())).optional() })
          .optional()
          .catch(undefined),
      }),
    )
    .default([]),
});
const Refusal = z.object({
  error: z.looseObject({ errors: z.array(z.looseObject({ reason: z.string() })).default([]), message: z.string() }),
});

/** Google's Custom Search JSON API: a key and the id of a search engine; 100 searches a day cost nothing. */
export const googleSearch: SearchEngine = {
  title: "Google Custom Search",
  request(query, count, { address, apiKey = "", engineId = "" }) {
    const url = new URL(address);
    const values = { key: apiKey, cx: engineId, q: query, num: String(count) };
    for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
    return { address: url.href };
  },
  read(body) {
    return Found.safeParse(body).data?.items.map(({ title, snippet, link, pagemap }) => {
      const date = pagemap?.metatags?.[0]?.["article:published_time"];
      return { title, snippet, url: link, date };
    });
  },
  failure({ status, body }) {
    const reasons = refusalIn(body.toString());
    if (reasons.some((reason) => /LimitExceeded|quotaExceeded/u.test(reason))) {
      return new AppError(
        "rate_limit",
        "Google takes no more searches for now: the free ones of the day are used up.",
        {
          suggestion: "Try again tomorrow, or pay for more searches in the Google Cloud console.",
        },
      );
    }
    if (status === 400 && reasons.some((reason) => /keyInvalid|API key not valid/u.test(reason))) {
      return new AppError("auth", "Google does not know the key.", { suggestion: "Check GOOGLE_SEARCH_API_KEY." });
    }
    return undefined;
  },
  help: {
    en: [
      "Create a project at https://console.cloud.google.com/apis/credentials and in it an API key; turn on the Custom Search API.",
      "Create a search engine at https://programmablesearchengine.google.com/controlpanel/all that searches the entire web.",
      "Set GOOGLE_SEARCH_API_KEY to the key (or store it with PUT /web-search/google/key) and GOOGLE_SEARCH_CX to the id of the search engine. 100 searches a day are free.",
    ],
    zh: [
      "访问 https://console.cloud.google.com/apis/credentials 创建项目和 API 密钥，并启用 Custom Search API。",
      "访问 https://programmablesearchengine.google.com/controlpanel/all 创建搜索引擎，并选择搜索整个网络。",
      "将 GOOGLE_SEARCH_API_KEY 设为该密钥（或用 PUT /web-search/google/key 保存），将 GOOGLE_SEARCH_CX 设为搜索引擎 ID。每天可免费查询 100 次。",
    ],
  },
};

function refusalIn(text: string): string[] {
  try {
    const read = Refusal.safeParse(JSON.parse(text)).data;
    return read === undefined ? [] : [...read.error.errors.map(({ reason }) => reason), read.error.message];
  } catch {
    // Not every error of Google's is JSON; then its status alone tells.
    return [];
  }
}
