import { queryOptions, useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import type { GraphDrawing } from "../run/graph-layout.ts";
import { perform, request } from "./client.ts";
import { Assistant, Run } from "./shapes.ts";
import { queryClient } from "./threads.ts";

const Id = z.pipe(z.union([z.string(), z.number()]), z.transform(String));
const Drawn = z.object({
  nodes: z.array(
    z.object({
      id: Id,
      type: z.optional(z.string()),
      data: z.optional(z.unknown()),
      metadata: z.nullish(z.looseObject({ __interrupt: z.optional(z.enum(["before", "after", "both"])) })),
    }),
  ),
  edges: z.array(
    z.object({
      source: Id,
      target: Id,
      data: z.nullish(z.string()),
      conditional: z.optional(z.boolean()),
    }),
  ),
});
const Named = z.object({ name: z.optional(z.string()), title: z.optional(z.string()) });

/** The drawing of an assistant's graph, with its subgraphs. */
export function useDrawing(assistantId: string) {
  return useQuery({
    queryKey: ["drawing", assistantId],
    queryFn: async ({ signal }): Promise<GraphDrawing> => {
      const path = `/assistants/${encodeURIComponent(assistantId)}/graph?xray=true`;
      const { nodes, edges } = await request(path, Drawn, { signal });
      return {
        nodes: nodes.map(({ id, type = "runnable", data, metadata }) => {
          const { name, title } = z.safeParse(Named, data).data ?? {};
          const isOwn = type === "runnable" && !/^\d+$/u.test(id);
          const last = id.split(/[:|]/u).at(-1) ?? id;
          return { id, name: isOwn ? last : (name ?? title ?? last), type, interrupt: metadata?.__interrupt };
        }),
        edges: edges.map(({ source, target, data, conditional }) => ({
          source,
          target,
          label: data ?? undefined,
          conditional: conditional === true,
        })),
      };
    },
    staleTime: 60_000,
  });
}

const Schemas = z.object({
  input_schema: z.nullish(z.unknown()),
  state_schema: z.nullish(z.unknown()),
  context_schema: z.nullish(z.unknown()),
});

const schemasOf = (assistantId: string) =>
  queryOptions({
    queryKey: ["schemas", assistantId],
    queryFn: ({ signal }) => request(`/assistants/${encodeURIComponent(assistantId)}/schemas`, Schemas, { signal }),
    staleTime: 60_000,
  });

/** What an assistant's graph takes and has, as JSON Schema where it says so. */
export function useSchemas(assistantId: string) {
  return useQuery(schemasOf(assistantId));
}

const Fields = z.looseObject({ properties: z.record(z.string(), z.unknown()) });

/** Whether a graph takes messages; one that does not say what it takes may. */
function hasMessages(schema: unknown): boolean {
  const fields = z.safeParse(Fields, schema).data?.properties;
  return fields === undefined || Object.keys(fields).length === 0 || Object.hasOwn(fields, "messages");
}

/** Whether an assistant can be talked to: that its graph takes messages. Until that is known it counts as one. */
export function useTakesMessages(assistantId: string, isAsked: boolean): boolean {
  const { data } = useQuery({ ...schemasOf(assistantId), enabled: isAsked });
  return data === undefined || hasMessages(data.input_schema);
}

/** The same, asked once. Throws where the graph is not served. */
export async function takesMessages(assistantId: string): Promise<boolean> {
  return hasMessages((await queryClient.fetchQuery(schemasOf(assistantId))).input_schema);
}

const FullAssistant = z.extend(Assistant, {
  name: z.string(),
  version: z.number(),
  context: z.nullish(z.record(z.string(), z.unknown())),
  created_at: z.string(),
});
/** An assistant with what it is run with. */
export type FullAssistant = z.infer<typeof FullAssistant>;

/** One assistant, by its id or as the one of a graph. */
export function useAssistant(id: string) {
  return useQuery({
    queryKey: ["assistant", id],
    queryFn: ({ signal }) => request(`/assistants/${encodeURIComponent(id)}`, FullAssistant, { signal }),
  });
}

/** The versions of an assistant, the newest first. */
export function useVersions(id: string) {
  return useQuery({
    queryKey: ["assistant", id, "versions"],
    queryFn: ({ signal }) =>
      request(`/assistants/${encodeURIComponent(id)}/versions`, z.array(FullAssistant), {
        method: "POST",
        body: { limit: 50 },
        signal,
      }),
  });
}

const NotServed = z.object({
  graph_id: z.string(),
  is_served: z.boolean(),
  problem: z.nullable(z.object({ module: z.string(), message: z.string() })),
});

/** The graphs that the server could not load, and why. */
export function useGraphProblems() {
  return useQuery({
    queryKey: ["graphs"],
    queryFn: ({ signal }) => request("/graphs", z.array(NotServed), { signal }),
    select: (graphs) => graphs.flatMap(({ graph_id, problem }) => (problem === null ? [] : { graph_id, ...problem })),
    staleTime: 60_000,
  });
}

async function assistantsChanged(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ["assistants"] });
  await queryClient.invalidateQueries({ queryKey: ["assistant"] });
}

/** Makes an assistant of a graph; gives its id. */
export async function makeAssistant(graphId: string, name: string, context: unknown): Promise<string> {
  const body = { graph_id: graphId, name, ...(context !== undefined && { context }) };
  const made = await request("/assistants", FullAssistant, { method: "POST", body });
  await assistantsChanged();
  return made.assistant_id;
}

/** Makes the next version of an assistant, which is then the one that is run; gives its number. */
export async function makeVersion(id: string, context: unknown): Promise<number> {
  const path = `/assistants/${encodeURIComponent(id)}`;
  const { version } = await request(path, FullAssistant, { method: "PATCH", body: { context: context ?? {} } });
  await assistantsChanged();
  return version;
}

/** Makes a version of an assistant the one that is run. */
export async function chooseVersion(id: string, version: number): Promise<void> {
  await perform(`/assistants/${encodeURIComponent(id)}/latest`, { method: "POST", body: { version } });
  await assistantsChanged();
}

/** Deletes an assistant. */
export async function deleteAssistant(id: string): Promise<void> {
  await perform(`/assistants/${encodeURIComponent(id)}`, { method: "DELETE" });
  await assistantsChanged();
}

/** How a run is started by its graph's own input. */
export interface GraphRun {
  assistant_id: string;
  input?: unknown;
  context?: unknown;
  command?: unknown;
  interrupt_before?: readonly string[];
  interrupt_after?: readonly string[];
  checkpoint_id?: string;
}

/** What of a run is kept to be looked at: its tasks, what they write, and words as they come, of subgraphs too. */
const kept = {
  stream_mode: ["values", "updates", "tasks", "messages-tuple", "custom"],
  stream_subgraphs: true,
  stream_resumable: true,
} as const;

/** Starts a run with any input; gives its id. */
export async function startGraphRun(threadId: string, run: GraphRun): Promise<string> {
  const body = { multitask_strategy: "enqueue", ...kept, ...run };
  const { run_id } = await request(`/threads/${threadId}/runs`, Run, { method: "POST", body });
  return run_id;
}
