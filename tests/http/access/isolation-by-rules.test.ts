import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describedRoutes, type DescribedRoute } from "../../support/requests/described-routes.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

/** A text that only Ada's records contain. */
const canary = "canary-of-ada-77e0";
const bob = { authorization: "Bearer token-of-bob" };

let folder: string;
let server: TestServer;
let routes: DescribedRoute[];
let adas: Client;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-rules-"));
  const tests = join(import.meta.dirname, "..", "..");
  const graphs = { asking: join(tests, "fixtures/graphs/asking.ts:graph") };
  const auth = { path: join(tests, "fixtures/graphs/auth.ts:auth") };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs, auth }));
  server = await startTestServer({ graphs: join(folder, "langgraph.json"), drainSeconds: 0.1 });
  ({ routes } = await describedRoutes(server));
  const defaultHeaders = { authorization: "Bearer token-of-ada" };
  adas = new Client({ apiUrl: server.url, defaultHeaders, callerOptions: { maxRetries: 0 } });
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

type Ids = Record<"thread_id" | "run_id" | "checkpoint_id" | "interrupt_id" | "cron_id" | "assistant_id", string>;

/** A thread of Ada's with an open question, a cron and an assistant, and a canary in every text field. */
async function adasThings(): Promise<Ids> {
  const { thread_id } = await adas.threads.create({ metadata: { canary } });
  await adas.runs.wait(thread_id, "asking", { input: { name: canary }, metadata: { canary } });
  const [run] = await adas.runs.list(thread_id);
  const state = await adas.threads.getState(thread_id);
  const cron: unknown = await adas.crons.create("asking", { schedule: "0 0 1 1 *", input: {}, metadata: { canary } });
  const { assistant_id } = await adas.assistants.create({ graphId: "asking", name: canary });
  return {
    thread_id,
    run_id: run?.run_id ?? "",
    checkpoint_id: state.checkpoint.checkpoint_id ?? "",
    interrupt_id: state.tasks[0]?.interrupts[0]?.id ?? "",
    cron_id: (cron as { cron_id: string }).cron_id,
    assistant_id,
  };
}

function missingIds(): Ids {
  const id = (): string => crypto.randomUUID();
  return {
    thread_id: id(),
    run_id: id(),
    checkpoint_id: id(),
    interrupt_id: id().replaceAll("-", ""),
    cron_id: id(),
    assistant_id: id(),
  };
}

function bodyOf({ method, path }: DescribedRoute): object | undefined {
  if (method === "GET") return undefined;
  if (path.endsWith("/runs/crons")) return { assistant_id: "asking", schedule: "0 0 1 1 *" };
  if (/\/runs(\/(wait|stream))?$/u.test(path)) return { assistant_id: "asking", input: {} };
  if (path.endsWith("/commands")) return { id: 1, method: "state.get" };
  if (path.endsWith("/stream/events")) return { channels: ["values"] };
  if (path.endsWith("/latest")) return { version: 1 };
  return path.endsWith("/state") ? { values: { name: "taken over" } } : {};
}

/** The answer to Bob's request, with the ids he sent replaced by their names. */
async function answerToBob(route: DescribedRoute, ids: Ids): Promise<{ status: number; text: string }> {
  const known = Object.entries(ids);
  const path = route.path.replaceAll(/\{(\w+)\}/gu, (_, name: string) => {
    return known.find(([one]) => one === name)?.[1] ?? crypto.randomUUID();
  });
  const response = await server.send(route.method, path, bodyOf(route), bob);
  // A stream of a thread stays open.
  const isEndless = /\/stream(\/events)?$/u.test(route.path) && response.status === 200;
  if (isEndless) await response.body?.cancel();
  const text = isEndless ? "" : await response.text();
  const hidden = known.reduce((now, [name, id]) => now.replaceAll(id, `<${name}>`), text);
  return {
    status: response.status,
    text: hidden.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/gu, "<id>").replace(/"applied_through_seq":\d+/u, ""),
  };
}

describe("rules that show users only their own records", () => {
  it("make every route answer for another user's id as for an unknown one, and change nothing", async () => {
    const foreign = await adasThings();
    const view = async (): Promise<unknown> => [
      await adas.threads.get(foreign.thread_id),
      await adas.threads.getHistory(foreign.thread_id),
      await adas.runs.list(foreign.thread_id),
      await adas.crons.search(),
      await adas.assistants.search(),
    ];
    const before = await view();
    const different: object[] = [];
    const owned = routes.filter(({ path }) => /\{(thread|run|cron|assistant)_id\}/u.test(path));
    for (const route of owned) {
      const [found, expected] = [await answerToBob(route, foreign), await answerToBob(route, missingIds())];
      if (JSON.stringify(found) !== JSON.stringify(expected) || found.text.includes(canary)) {
        different.push({ route: `${route.method} ${route.path}`, found, expected });
      }
    }
    expect(owned.length).toBeGreaterThan(60);
    expect(different).toEqual([]);
    expect(await view()).toEqual(before);
  });

  it("return nothing of other users in any list or search", async () => {
    await adasThings();
    const lists = routes.filter(
      ({ path, method }) => !path.includes("{") && (method === "GET" || path.endsWith("search")),
    );
    const leaks: string[] = [];
    for (const route of lists) {
      const response = await server.send(route.method, route.path, bodyOf(route), bob);
      const isEndless = response.headers.get("content-type")?.includes("event-stream") === true;
      if (isEndless) await response.body?.cancel();
      else if ((await response.text()).includes(canary)) leaks.push(`${route.method} ${route.path}`);
    }
    expect(lists.length).toBeGreaterThan(15);
    expect(leaks).toEqual([]);
  });
});
