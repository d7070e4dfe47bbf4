import { z } from "zod";
import type { Language } from "@millrace/engine/language";
import { AppError } from "@millrace/engine/errors/errors";
import type { SearchEngineName, SearchSettings } from "@millrace/engine/config/web-settings";
import type { WebAnswer, WebRequest } from "@millrace/engine/net/web-get";
import type { FoundPage } from "@millrace/models/messages/search-result";

/** One search engine. To add one, write a file of this shape and a line in `search-engines.ts`. */
export interface SearchEngine {
  /** Display name. */
  title: string;
  /** The request for a search; `count` is at most 10. */
  request(query: string, count: number, settings: SearchSettings): Pick<WebRequest, "address" | "headers">;
  /** The pages in a successful response; `undefined` if it is not in the engine's format. */
  read(body: unknown): FoundPage[] | undefined;
  /** The error of a failed answer, if its body says more than its status. */
  failure?(answer: WebAnswer): AppError | undefined;
  /** Setup steps in order. */
  help: Readonly<Record<Language, readonly string[]>>;
}

const BingPages = z.object({
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

/** Bing's Web Search API 7, or a compatible service at another address. */
export const bingSearch: SearchEngine = {
  title: "Bing Web Search",
  request(query, count, { address, apiKey = "" }) {
    const url = new URL(address);
    url.searchParams.set("q", query);
    url.searchParams.set("count", String(count));
    return { address: url.href, headers: { "ocp-apim-subscription-key": apiKey } };
  },
  read(body) {
    const read = BingPages.safeParse(body).data;
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

const GooglePages = z.object({
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

/** Google's Custom Search JSON API: needs a key and a search engine id; 100 searches a day are free. */
export const googleSearch: SearchEngine = {
  title: "Google Custom Search",
  request(query, count, { address, apiKey = "", engineId = "" }) {
    const url = new URL(address);
    const values = { key: apiKey, cx: engineId, q: query, num: String(count) };
    for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value);
    return { address: url.href };
  },
  read(body) {
    return GooglePages.safeParse(body).data?.items.map(({ title, snippet, link, pagemap }) => {
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
        { suggestion: "Try again tomorrow, or pay for more searches in the Google Cloud console." },
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
    // Google's errors are not always JSON; then only the status is known.
    return [];
  }
}

const SearxngPages = z.object({
  results: z.array(
    z.looseObject({
      title: z.string().optional(),
      url: z.string().optional(),
      content: z.string().nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
});

/** A self-hosted SearXNG server, which needs no key. */
export const searxngSearch: SearchEngine = {
  title: "SearXNG",
  request(query, _count, { address }) {
    const url = new URL(`${address.replace(/\/+$/u, "")}/search`);
    url.searchParams.set("q", query);
    url.searchParams.set("format", "json");
    return { address: url.href };
  },
  read(body) {
    return SearxngPages.safeParse(body).data?.results.map(({ title, url, content, publishedDate }) => ({
      title,
      url,
      snippet: content,
      date: publishedDate,
    }));
  },
  failure({ status }) {
    if (status !== 403) return undefined;
    return new AppError("auth", "SearXNG does not answer in JSON.", {
      suggestion: "List json under search.formats in its settings.yml.",
    });
  },
  help: {
    en: [
      "Run a SearXNG server, and list json under search.formats in its settings.yml.",
      "Set SEARXNG_URL to its address, for example http://127.0.0.1:8888. It needs no key.",
    ],
    zh: [
      "运行 SearXNG 服务器，并在其 settings.yml 的 search.formats 中加入 json。",
      "将 SEARXNG_URL 设为其地址，例如 http://127.0.0.1:8888。无需密钥。",
    ],
  },
};

/** All search engines by their name in `MILLRACE_SEARCH`. */
export const searchEngines: Readonly<Record<SearchEngineName, SearchEngine>> = {
  google: googleSearch,
  bing: bingSearch,
  searxng: searxngSearch,
};
