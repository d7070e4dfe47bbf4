import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import type { SearchEngine } from "./search-engine.ts";

const Found = z.object({
  results: z.array(
    z.looseObject({
      title: z.string().optional(),
      url: z.string().optional(),
      content: z.string().nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
});

/** A SearXNG server of the user's own, which needs no key. */
export const searxngSearch: SearchEngine = {
  title: "SearXNG",
  request(query, _count, { address }) {
    const url = new URL(`${address.replace(/\/+$/u, "")}/search`);
    url.searchParams.set("q", query);
    url.searchParams.set("format", "json");
    return { address: url.href };
  },
  read(body) {
    return Found.safeParse(body).data?.results.map(({ title, url, content, publishedDate }) => ({
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
