import { useInfiniteQuery, useQueries, useQuery, type InfiniteData } from "@tanstack/react-query";
import * as z from "zod/mini";
import { request, send } from "../client.ts";
import { undoTogether } from "../operations.ts";
import { queryClient } from "../threads.ts";
import { changeManually } from "../tools.ts";
import { Circuit, Iteration, Netlist, Waveform } from "./circuit-shapes.ts";

const Entry = z.object({ name: z.string(), title: z.string(), simulated_at: z.nullable(z.string()) });
const List = z.object({ circuits: z.array(Entry), more: z.boolean() });

/** The circuits of the workspace. */
export function useCircuits() {
  return useQuery({ queryKey: ["circuits"], queryFn: ({ signal }) => request("/circuits", List, { signal }) });
}

const Curves = z.object({ waveforms: z.array(Waveform) });

const pathOf = (name: string): string => `/circuits/${encodeURIComponent(name)}`;

/** A circuit as it is now. `language`: in which its problems are said. */
export function useCircuit(name: string, language: string) {
  return useQuery({
    queryKey: ["circuits", name, "now", language],
    queryFn: ({ signal }) => request(pathOf(name), Circuit, { signal }),
  });
}

/** What a netlist that is being written holds; nothing without one. */
export function useParsed(text: string | undefined, language: string) {
  return useQuery({
    queryKey: ["parsed-netlist", text, language],
    queryFn: ({ signal }) => request("/circuits/parse", Netlist, { method: "POST", body: { text }, signal }),
    enabled: text !== undefined,
    placeholderData: (before) => before,
    staleTime: Infinity,
    gcTime: 0,
  });
}

interface IterationPage {
  iterations: Iteration[];
  next: string | null;
}

/** The simulations of a circuit, newest first. */
export function useIterations(name: string) {
  return useInfiniteQuery<IterationPage, Error, InfiniteData<IterationPage>, readonly unknown[], string | null>({
    queryKey: ["circuits", name, "iterations"],
    initialPageParam: null,
    queryFn: async ({ pageParam, signal }) => {
      const search = new URLSearchParams({ limit: "30", ...(pageParam !== null && { cursor: pageParam }) });
      const response = await send(`${pathOf(name)}/iterations?${search}`, { signal });
      const iterations = z.parse(z.array(Iteration), await response.json());
      return { iterations, next: response.headers.get("x-pagination-next") };
    },
    getNextPageParam: ({ next }) => next,
  });
}

/** The simulation that a call of a thread has made; `null`: it is not among the newest of the thread. */
export function useIterationOf(name: string, threadId: string, callId: string) {
  return useQuery({
    queryKey: ["circuits", name, "of", callId],
    queryFn: async ({ signal }) => {
      const path = `${pathOf(name)}/iterations?limit=100&thread_id=${encodeURIComponent(threadId)}`;
      const found = await request(path, z.array(Iteration), { signal });
      return found.find(({ call_id: id }) => id === callId) ?? null;
    },
    staleTime: Infinity,
    retry: false,
  });
}

/** The curves of simulations, of which each stays as it is. */
export function useCurves(name: string, ids: readonly string[], points: number) {
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ["curves", name, id, points],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        request(`${pathOf(name)}/iterations/${id}?points=${points}`, Curves, { signal }),
      staleTime: Infinity,
    })),
  });
}

/** Reads circuits again. */
export async function readCircuitsAgain(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ["circuits"] });
}

/** Writes a circuit by hand in a chat, where it can be undone. Gives the operation; `undefined`: nothing was changed. */
export async function writeCircuit(threadId: string, path: string, content: string): Promise<string | undefined> {
  const { operation } = await changeManually(threadId, { tool: "rewrite_file", args: { path, content } });
  return operation?.operation_id;
}

/** Takes a change of a circuit back. Throws what stands in the way. */
export async function takeBack(threadId: string, operationId: string): Promise<void> {
  const { conflicts } = await undoTogether(threadId, [operationId]);
  if (conflicts[0] !== undefined) throw new Error(conflicts[0].message);
}

/** Simulates a circuit by hand in a chat; what is wrong with it is the error. */
export async function simulateCircuit(threadId: string, circuit: string): Promise<void> {
  await changeManually(threadId, { tool: "run_simulation", args: { circuit } });
}
