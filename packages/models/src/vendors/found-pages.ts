import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { z } from "zod";
import { toSearchResults, type FoundPage } from "../messages/search-result.ts";

/** The tool that makes a vendor search the web and report the pages. */
export const vendorSearchTool = {
  type: "web_search",
  web_search: { enable: true, search_engine: "search_std", search_result: true },
};

/** Maximum pages kept per answer. */
const maxPages = 20;

const Found = z.looseObject({
  web_search: z.array(
    z.looseObject({
      title: z.string().nullish(),
      link: z.string().nullish(),
      content: z.string().nullish(),
      publish_date: z.string().nullish(),
    }),
  ),
});

/** The pages a vendor reports in an answer or chunk; empty if none. */
export function foundPagesIn(answer: unknown): FoundPage[] {
  const read = Found.safeParse(answer).data;
  return (read?.web_search ?? []).map(({ title, link, content, publish_date }) => ({
    title,
    url: link,
    snippet: content,
    date: publish_date,
  }));
}

/** Stores the found pages on a message. */
export function storeFoundPages(message: BaseMessage, pages: readonly FoundPage[]): void {
  const results = toSearchResults(pages, maxPages);
  if (results.length > 0) message.additional_kwargs["web_search_results"] = results;
}

/** `storeFoundPages` for a streamed answer: its chunks, then one without text that holds the pages. */
export async function* withFoundPages(
  chunks: AsyncIterable<ChatGenerationChunk>,
  pages: readonly FoundPage[],
): AsyncGenerator<ChatGenerationChunk> {
  let id: string | undefined;
  for await (const chunk of chunks) {
    id = chunk.message.id ?? id;
    yield chunk;
  }
  if (pages.length === 0) return;
  const message = new AIMessageChunk({ content: "", ...(id === undefined ? {} : { id }) });
  storeFoundPages(message, pages);
  yield new ChatGenerationChunk({ text: "", message });
}
