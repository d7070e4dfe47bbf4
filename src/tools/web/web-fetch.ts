import { z } from "zod";
import type { WebPage } from "../../web/read-page.ts";
import { failure, success, type ToolResult } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";
import { dataFromOutside, opening, webSeconds } from "./web-text.ts";

/** The text of one page of the public web. */
export const webFetch = defineTool({
  name: "web_fetch",
  description:
    "Opens a page of the public web and gives its text as Markdown, with its links. Only http and https, only text (no PDF, no " +
    "images), up to 5 MB; addresses of private networks are refused. Use it for an address that the user or a search has given.",
  schema: z.object({ url: z.string().trim().min(1).max(2000).describe("the whole address, with http:// or https://") }),
  effect: "pure",
  timeoutSeconds: webSeconds,
  offered: { needs: "web_pages" },
  resources: (_, context) => opening(context),
  run: async ({ url }, { server: { web }, signal }) =>
    web?.pages === undefined ? noPages() : shown(await web.pages.read(url, signal)),
  example: { title: "Read a page", body: '{"url": "https://example.com/news"}' },
});

function noPages(): ToolResult {
  return failure(
    "config",
    "Pages of the web are not opened here.",
    "Tell the user; MILLRACE_WEB_FETCH decides about it.",
  );
}

function shown({ url, title, text, isCut }: WebPage): ToolResult {
  const heading = title === "" ? url : `${title} (${url})`;
  const rest = isCut ? "\n\n[… the rest of the page is left out …]" : "";
  const content = `${heading}\n${dataFromOutside}\n\n${text}${rest}`;
  return success(`Read ${url}: ${text.length} characters`, { content, data: { url, title, is_cut: isCut } });
}
