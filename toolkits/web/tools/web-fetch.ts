import { z } from "zod";
import type { WebPage } from "../pages/read-page.ts";
import { success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { webKey } from "../open.ts";
import { dataFromOutside, noPages, opening, opensPages, webSeconds } from "./web-text.ts";

/** The text of one page of the public web. */
export const webFetch = defineTool({
  name: "web_fetch",
  description:
    "Opens a page of the public web and gives its text as Markdown, with its links. Only http and https, only text (no PDF, no " +
    "images), up to 5 MB; addresses of private networks are refused. Use it for an address that the user or a search has given.",
  schema: z.object({ url: z.string().trim().min(1).max(2000).describe("the whole address, with http:// or https://") }),
  effect: "pure",
  timeoutSeconds: webSeconds,
  offered: { isAvailable: opensPages },
  resources: (_, context) => opening(context),
  run: async ({ url }, { toolkitServices, signal }) => {
    const pages = toolkitServices.find(webKey)?.pages;
    return pages === undefined ? noPages() : shown(await pages.read(url, signal));
  },
  example: { title: "Read a page", body: '{"url": "https://example.com/news"}' },
});

function shown({ url, title, text, isCut }: WebPage): ToolResult {
  const heading = title === "" ? url : `${title} (${url})`;
  const rest = isCut ? "\n\n[… the rest of the page is left out …]" : "";
  const content = `${heading}\n${dataFromOutside}\n\n${text}${rest}`;
  return success(`Read ${url} (${text.length} characters).`, {
    content,
    data: { url, title, is_cut: isCut },
    message_zh: `已读取 ${url}（${text.length} 个字符）。`,
  });
}
