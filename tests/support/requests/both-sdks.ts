import type { Client } from "@langchain/langgraph-sdk";
import { isSecondSdk, type TestServer } from "../test-server.ts";

/**
 * The SDK's client for crons. SDK 2.0.0 leaves out fields (time zones, modes, the search by metadata): with it, what 1.15
 * would send is sent.
 */
export function cronsOf(server: TestServer): Client["crons"] {
  if (!isSecondSdk) return server.client.crons;
  const send = async (method: string, path: string, body?: object): Promise<unknown> => {
    const response = await server.send(method, path, body === undefined ? undefined : snakeCased(body));
    const text = await response.text();
    if (!response.ok) throw new Error(`HTTP ${response.status}: ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };
  const crons = {
    create: (assistantId: string, payload: object) => send("POST", "/runs/crons", { assistantId, ...payload }),
    createForThread: (threadId: string, assistantId: string, payload: object) =>
      send("POST", `/threads/${threadId}/runs/crons`, { assistantId, ...payload }),
    update: (cronId: string, payload: object) => send("PATCH", `/runs/crons/${cronId}`, payload),
    delete: (cronId: string) => send("DELETE", `/runs/crons/${cronId}`),
    search: (query: object) => send("POST", "/runs/crons/search", query),
    count: (query: object) => send("POST", "/runs/crons/count", query),
  };
  // What the server answers is looked at by each test.
  return crons as unknown as Client["crons"];
}

/** `threads.prune`, which SDK 2.0.0 does not have: with it, the request of 1.15 is sent. */
export async function pruneThreads(
  server: TestServer,
  threadIds: string[],
  options: { strategy?: "delete" | "keep_latest" } = {},
): Promise<unknown> {
  if (!isSecondSdk) return await server.client.threads.prune(threadIds, options);
  const body = { thread_ids: threadIds, strategy: "delete", ...options };
  return await (await server.send("POST", "/threads/prune", body)).json();
}

/** `runs.cancelMany`, which SDK 2.0.0 does not have: with it, the request of 1.15 is sent. */
export async function cancelRuns(
  server: TestServer,
  query: Parameters<Client["runs"]["cancelMany"]>[0],
): Promise<void> {
  if (!isSecondSdk) return await server.client.runs.cancelMany(query);
  const response = await server.send("POST", "/runs/cancel", snakeCased(query));
  if (!response.ok) throw new Error(`HTTP ${response.status}: ${await response.text()}`);
}

function snakeCased(body: object): object {
  const named = ([name, value]: [string, unknown]): [string, unknown] => [
    name.replace(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`),
    value,
  ];
  return Object.fromEntries(Object.entries(body).map(named));
}
