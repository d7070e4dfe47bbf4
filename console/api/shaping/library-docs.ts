import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request, type RequestOptions } from "../client.ts";
import { queryClient } from "../threads.ts";

const LibraryDocs = z.object({
  repository: z.string(),
  is_cloned: z.boolean(),
  libraries: z.array(z.string()),
  documents: z.array(z.object({ library: z.string(), path: z.string(), content: z.optional(z.string()) })),
  warnings: z.array(z.object({ file: z.string(), problem: z.string() })),
});

/** The libraries whose documentation models read, and the names of its documents. */
export function useLibraryDocs() {
  return useQuery({
    queryKey: ["library-docs"],
    queryFn: ({ signal }) => request("/library-docs", LibraryDocs, { signal }),
  });
}

/** The documents of one library, with their texts. */
export function useLibrary(name: string) {
  return useQuery({
    queryKey: ["library-docs", name],
    queryFn: ({ signal }) =>
      request(`/library-docs?${new URLSearchParams({ name, content: "true" })}`, LibraryDocs, { signal }),
  });
}

/** Adds a library; the first one brings the repository here, which may take a while. */
export async function addLibrary(name: string): Promise<void> {
  await changed("/library-docs", { method: "POST", body: { name } });
}

/** Takes a library from the list. */
export async function removeLibrary(name: string): Promise<void> {
  await changed(`/library-docs?${new URLSearchParams({ name })}`, { method: "DELETE" });
}

/** Brings the repository here anew. */
export async function refreshLibraries(): Promise<void> {
  await changed("/library-docs/refresh", { method: "POST" });
}

/** Chooses the repository; `null`: the usual one. */
export async function setRepository(url: string | null): Promise<void> {
  await changed("/library-docs/repository", { method: "PUT", body: { url } });
}

async function changed(path: string, options: RequestOptions): Promise<void> {
  await perform(path, options);
  await queryClient.invalidateQueries({ queryKey: ["library-docs"] });
}
