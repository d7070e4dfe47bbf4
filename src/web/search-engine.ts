import type { Language } from "@millrace/engine/language";
import type { AppError } from "@millrace/engine/errors/errors";
import type { SearchSettings } from "@millrace/engine/config/web-settings";
import type { FoundPage } from "./search-result.ts";
import type { WebAnswer, WebRequest } from "@millrace/engine/net/web-get";

/** One search engine. Adding one is a file with this shape and a line in `search-engines.ts`. */
export interface SearchEngine {
  /** How people call it. */
  title: string;
  /** The request for a search; `count` is at most 10. */
  request(query: string, count: number, settings: SearchSettings): Pick<WebRequest, "address" | "headers">;
  /** The pages in a success; `undefined` where it has another form than the engine's. */
  read(body: unknown): FoundPage[] | undefined;
  /** What an answer that is no success means where the status alone does not tell. */
  failure?(answer: WebAnswer): AppError | undefined;
  /** What has to be done to use it, in order. */
  help: Readonly<Record<Language, readonly string[]>>;
}
