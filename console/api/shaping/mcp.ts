import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request } from "../client.ts";
import { queryClient } from "../threads.ts";

const McpServer = z.object({
  name: z.string(),
  entry: z.record(z.string(), z.unknown()),
  is_enabled: z.boolean(),
  problem: z.nullable(z.string()),
  state: z.enum(["off", "idle", "connecting", "connected", "lost", "down"]),
  since: z.nullable(z.string()),
  reason: z.nullable(z.string()),
  tools: z.array(z.object({ name: z.string(), description: z.string() })),
});
/** A server whose tools runs may use, by MCP. */
export type McpServer = z.infer<typeof McpServer>;

const Log = z.array(
  z.object({
    at: z.string(),
    what: z.enum(["connected", "lost", "down", "tools_left_out", "list_not_read"]),
    reason: z.nullable(z.string()),
  }),
);

const addressOf = (name: string, end = ""): string => `/mcp/servers/${encodeURIComponent(name)}${end}`;

/** All servers, each with its state. */
export function useMcpServers() {
  return useQuery({
    queryKey: ["mcp"],
    queryFn: ({ signal }) => request("/mcp/servers", z.array(McpServer), { signal }),
  });
}

/** What happened to a server, the newest last. */
export function useMcpLog(name: string) {
  return useQuery({
    queryKey: ["mcp", name],
    queryFn: ({ signal }) => request(addressOf(name, "/log"), Log, { signal }),
  });
}

/** Writes a server into the file of the server. */
export async function saveMcpServer(name: string, entry: McpServer["entry"]): Promise<void> {
  await changed(addressOf(name), { method: "PUT", body: entry });
}

/** Takes a server out of that file. */
export async function removeMcpServer(name: string): Promise<void> {
  await changed(addressOf(name), { method: "DELETE" });
}

/** Connects a server anew; gives how it is then. */
export async function reconnectMcpServer(name: string): Promise<McpServer> {
  const server = await request(addressOf(name, "/reconnect"), McpServer, { method: "POST" });
  await readAgain();
  return server;
}

async function changed(path: string, options: Parameters<typeof perform>[1]): Promise<void> {
  await perform(path, options);
  await readAgain();
}

async function readAgain(): Promise<void> {
  await Promise.all(["mcp", "tools"].map((key) => queryClient.invalidateQueries({ queryKey: [key] })));
}
