import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { ApiError, perform, request } from "../client.ts";
import { queryClient } from "../threads.ts";

/** The kinds of memories, in the order in which a model is given them. */
export const memoryKinds = ["entity", "preference", "fact"] as const;

const Memory = z.object({
  id: z.string(),
  kind: z.enum(memoryKinds),
  /** What an entity is to the user, such as employer; other kinds have none. */
  slot: z.nullable(z.string()),
  content: z.string(),
  updated_at: z.string(),
});
/** Something that the assistant keeps about the user from one chat to the next. */
export type Memory = z.infer<typeof Memory>;
/** What of a memory is written. */
export type MemoryInput = Pick<Memory, "kind" | "slot" | "content">;

const Listed = z.object({ data: z.array(Memory), is_on: z.boolean(), limits: z.object({ characters: z.number() }) });
const One = z.object({ data: Memory });

/** All memories of the caller, last changed first; with words those that are near to them. */
export function useMemories(words: string) {
  return useQuery({
    queryKey: ["memory", "list", words],
    queryFn: ({ signal }) =>
      request(words === "" ? "/api/memory" : `/api/memory?${new URLSearchParams({ query: words })}`, Listed, {
        signal,
      }),
    placeholderData: (before) => before,
  });
}

/** One memory; `null`: there is none. */
export function useMemory(id: string) {
  return useQuery({
    queryKey: ["memory", "one", id],
    queryFn: async ({ signal }) => {
      try {
        return (await request(place(id), One, { signal })).data;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });
}

const place = (id: string): string => `/api/memory/${encodeURIComponent(id)}`;

/** Keeps something new; what says the same, or fills the same slot, is changed instead. */
export async function addMemory(memory: MemoryInput): Promise<string> {
  const { data } = await request("/api/memory", One, { method: "POST", body: memory });
  await readAgain();
  return data.id;
}

/** Changes a memory; gives it as it is then. */
export async function changeMemory(id: string, memory: MemoryInput): Promise<Memory> {
  const { data } = await request(place(id), One, { method: "PATCH", body: memory });
  await readAgain();
  return data;
}

/** Deletes a memory for ever. */
export async function deleteMemory(id: string): Promise<void> {
  await perform(place(id), { method: "DELETE" });
  await readAgain();
}

function readAgain(): Promise<void> {
  return queryClient.invalidateQueries({ queryKey: ["memory"] });
}
