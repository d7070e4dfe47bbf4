import { z } from "zod";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { WebPage, WebPages } from "../pages/read-page.ts";
import { success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { webKey } from "../open.ts";
import { dataFromOutside, noPages, opening, opensPages } from "./web-text.ts";

/** Number of pages, default and maximum, and characters of each for the model. */
const [defaultPages, maxPages, shownLength] = [5, 10, 6000];

/** Maximum links skipped because of robots.txt. */
const maxClosed = 100;

/** Time limit for all pages in seconds: each has ten. */
const crawlSeconds = 120;

/** Reads a page and the pages it links to. */
export const webCrawl = defineTool({
  name: "web_crawl",
  description:
    "Reads a page of the public web and then pages of the same host that it links to, nearest first, and gives the beginning of " +
    "each as Markdown, as far as the host lets programs read it (robots.txt). Use it for documentation or news that is spread over several pages; for one page use web_fetch.",
  schema: z.object({
    url: z.string().trim().min(1).max(2000).describe("where to begin: the whole address, with http:// or https://"),
    max_pages: z.number().int().min(1).max(maxPages).optional().describe(`pages at most; default ${defaultPages}`),
    path_prefix: z.string().max(500).optional().describe("only pages whose path begins so, such as /docs/"),
  }),
  effect: "pure",
  timeoutSeconds: crawlSeconds,
  offered: { isAvailable: opensPages },
  resources: (_, context) => opening(context),
  run: async ({ url, max_pages = defaultPages, path_prefix = "/" }, { toolkitServices, runId, callId, signal }) => {
    const pages = toolkitServices.find(webKey)?.pages;
    if (pages === undefined) return noPages();
    const wanted = { url, limit: max_pages, prefix: path_prefix, run: runId ?? callId };
    return shown(await crawl(pages, wanted, signal));
  },
  example: { title: "Several pages", body: '{"url": "https://example.com/docs/", "max_pages": 3}' },
});

interface Crawled {
  pages: WebPage[];
  failed: { url: string; reason: string }[];
  /** Pages found but not read. */
  left: number;
  /** Pages closed to crawlers. */
  closed: number;
}

/** Reads breadth first. An error on the first page is thrown; on others it is recorded. */
async function crawl(
  pages: WebPages,
  { url, limit, prefix, run }: { url: string; limit: number; prefix: string; run: string },
  signal: AbortSignal,
): Promise<Crawled> {
  const isOpen = async (address: string): Promise<boolean> =>
    (await pages.robots(address, run, signal)).allows(new URL(address));
  if (!(await isOpen(url))) throw notForPrograms(url);
  const first = await pages.read(url, signal);
  if (first.url !== url && !(await isOpen(first.url))) throw notForPrograms(first.url);
  const found: Crawled = { pages: [first], failed: [], left: 0, closed: 0 };
  const { host } = new URL(first.url);
  const known = new Set([url, first.url].map(withoutHash));
  const waiting: string[] = [];
  const follow = ({ links }: WebPage): void => {
    for (const link of links.map(withoutHash)) {
      const target = new URL(link);
      if (known.has(link) || target.host !== host || !target.pathname.startsWith(prefix)) continue;
      known.add(link);
      waiting.push(link);
    }
  };
  follow(first);
  // Pages that robots.txt closes are not requested, and do not count.
  for (let requests = 1; requests < limit && found.closed < maxClosed; requests += 1) {
    const next = waiting.shift();
    if (next === undefined) break;
    try {
      if (!(await isOpen(next))) {
        found.closed += 1;
        requests -= 1;
        continue;
      }
      const page = await pages.read(next, signal);
      // A redirect may have led to another host.
      if (new URL(page.url).host !== host) continue;
      if (page.url !== next && !(await isOpen(page.url))) {
        found.closed += 1;
        continue;
      }
      found.pages.push(page);
      follow(page);
    } catch (error) {
      signal.throwIfAborted();
      if (!isAppError(error)) throw error;
      found.failed.push({ url: next, reason: error.message });
    }
  }
  return { ...found, left: waiting.length };
}

function notForPrograms(address: string): AppError {
  const { hostname, pathname } = new URL(address);
  return new AppError("permission", `${hostname} does not let programs follow links to ${pathname} (robots.txt).`, {
    suggestion: "Open single pages that the user has named with web_fetch.",
  });
}

function withoutHash(address: string): string {
  const url = new URL(address);
  url.hash = "";
  return url.href;
}

function shown({ pages, failed, left, closed }: Crawled): ToolResult {
  const texts = pages.map(({ url, title, text }, index) => {
    const rest = text.length > shownLength ? `\n[… ${text.length - shownLength} characters left out: web_fetch …]` : "";
    return `[page ${index + 1}] ${title === "" ? url : `${title} (${url})`}\n\n${text.slice(0, shownLength).toWellFormed()}${rest}`;
  });
  const notRead = failed.map(({ url, reason }) => `Not read: ${url}: ${reason}`);
  const more = left === 0 ? [] : [`${left} more pages are linked there.`];
  const refused =
    closed === 0 ? [] : [`Not read: ${closed} pages that the host does not let programs read (robots.txt).`];
  const content = [dataFromOutside, ...texts, ...notRead, ...refused, ...more].join("\n\n");
  const data = { pages: pages.map(({ url, title }) => ({ url, title })), failed, left, closed };
  const message = `Read ${pages.length} ${pages.length === 1 ? "page" : "pages"}.`;
  return success(message, { content, data, message_zh: `已读取 ${pages.length} 个网页。` });
}
