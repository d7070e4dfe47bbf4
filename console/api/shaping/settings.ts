import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request } from "../client.ts";
import { queryClient } from "../threads.ts";

const Setting = z.object({
  name: z.string(),
  value: z.unknown(),
  source: z.enum(["changed", "environment", "default"]),
  default: z.unknown(),
  is_secret: z.boolean(),
  change: z.nullable(z.string()),
});
/** One setting of the server: what counts, where it comes from, and how it is changed. */
export type Setting = z.infer<typeof Setting>;

/** All settings of the server. */
export function useSettings() {
  return useQuery({
    queryKey: ["settings"],
    queryFn: async ({ signal }) =>
      (await request("/settings", z.object({ settings: z.array(Setting) }), { signal })).settings,
  });
}

/** Changes a setting while the server runs; `null` takes the change back. */
export async function changeSetting(name: string, value: string | null): Promise<void> {
  await perform("/settings", { method: "PATCH", body: { [name]: value } });
  await queryClient.invalidateQueries({ queryKey: ["settings"] });
}

const Server = z.object({
  version: z.string(),
  node: z.string(),
  uptime_seconds: z.number(),
  memory_bytes: z.number(),
  event_loop_delay_ms: z.number(),
  database: z.object({ kind: z.enum(["sqlite", "postgres"]), bytes: z.record(z.string(), z.number()) }),
  disk: z.nullable(z.object({ free_bytes: z.number(), total_bytes: z.number() })),
  runs: z.object({
    running: z.number(),
    waiting: z.number(),
    oldest_waiting_seconds: z.number(),
    slots: z.number(),
    queue_limit: z.number(),
  }),
  graphs: z.object({
    served: z.array(z.string()),
    not_served: z.array(z.object({ graph_id: z.string(), message: z.string() })),
  }),
  problems: z.array(z.string()),
});

/** How the server is. */
export function useServer() {
  return useQuery({ queryKey: ["server"], queryFn: ({ signal }) => request("/server", Server, { signal }) });
}
