import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request } from "../client.ts";
import { queryClient } from "../threads.ts";
import { StoredKey } from "./models.ts";

const Search = z.object({ name: z.string(), title: z.string(), is_available: z.boolean(), help: z.array(z.string()) });
const WebSearch = z.object({
  engine: z.nullable(z.string()),
  opens_pages: z.boolean(),
  general: z.array(z.extend(Search, { key: z.nullable(StoredKey) })),
  provider: z.array(Search),
});
/** Who can search the web, what is missing for it, and the keys that are wanted. */
export type WebSearch = z.infer<typeof WebSearch>;

/** Who searches the web now; the help is in the language of the page. */
export function useWebSearch(language: string) {
  return useQuery({
    queryKey: ["web-search", language],
    queryFn: ({ signal }) => request("/web-search", WebSearch, { signal }),
  });
}

/** Stores the key of a search engine; without one the stored key is forgotten. */
export async function setSearchKey(engine: string, key?: string): Promise<void> {
  const path = `/web-search/${encodeURIComponent(engine)}/key`;
  await perform(path, key === undefined ? { method: "DELETE" } : { method: "PUT", body: { key } });
  const keys = ["web-search", "settings"];
  await Promise.all(keys.map((one) => queryClient.invalidateQueries({ queryKey: [one] })));
}
