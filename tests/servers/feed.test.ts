import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { OllamaServer } from "@millrace/testing/ollama-server";
import { eventsOf } from "@millrace/testing/read-events";
import { startPostgres } from "../support/processes/postgres.ts";
import { projectFolder } from "../support/source-files.ts";
import type { TestServer } from "../support/test-server.ts";
import { createServers, type Servers } from "./two-servers.ts";

const Thread = z.object({ thread_id: z.string() });
const Cards = z.object({ operations: z.array(z.looseObject({ operation_id: z.string() })) });

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)("a subscriber at one of two servers", () => {
  let servers: Servers;
  const startBoth = async (graphs?: string): Promise<[TestServer, TestServer]> => {
    const changes = graphs === undefined ? {} : { graphs };
    return [await servers.start(changes), await servers.start(changes)];
  };
  beforeEach(async () => {
    servers = await createServers(postgres);
  });
  afterEach(() => servers.close());

  it("receives the other server's changes, and a resync when a change was too large to send", async () => {
    const [one, other] = await startBoth();
    const left = new AbortController();
    const response = await fetch(`${other.url}/feed`, { signal: left.signal });
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const { data } of eventsOf(response)) seen.push(data);
    })().catch(() => undefined);
    try {
      // What has changed before at the other server is in the state.
      await expect.poll(() => seen).toEqual([expect.objectContaining({ type: "state" })]);
      const { thread_id } = await one.client.threads.create({ metadata: { topic: "here" } });
      await one.client.runs.wait(thread_id, "counter", { input: { value: 1 } });
      await expect
        .poll(() => seen)
        .toContainEqual(
          expect.objectContaining({ type: "run", thread_id, patch: expect.objectContaining({ status: "success" }) }),
        );
      expect(seen).toContainEqual(expect.objectContaining({ type: "thread", id: thread_id, what: "created" }));
      await one.client.threads.delete(thread_id);
      await expect
        .poll(() => seen)
        .toContainEqual(expect.objectContaining({ type: "thread", id: thread_id, what: "deleted" }));
      expect(seen).not.toContainEqual(expect.objectContaining({ type: "resync" }));
      const before = seen.length;
      await one.client.threads.create({ metadata: { topic: "long ".repeat(2_000) } });
      const resyncs = (): unknown[] => seen.slice(before);
      await expect.poll(resyncs).toEqual([expect.objectContaining({ type: "resync" })]);
      // Each such change, also where the last news was a resync, too.
      await one.client.threads.create({ metadata: { topic: "long ".repeat(2_000) } });
      await expect.poll(resyncs).toEqual([1, 2].map(() => expect.objectContaining({ type: "resync" })));
    } finally {
      left.abort();
      await reading;
    }
    // Each server counts by itself: who comes back to another one reads everything again.
    const last = z.looseObject({ seq: z.number() }).parse(seen.at(-1));
    const events = eventsOf(await one.send("GET", "/feed", undefined, { "last-event-id": String(last.seq) }));
    const types = [await events.next(), await events.next()].map(({ value }) => value?.event);
    expect(types).toEqual(["state", "resync"]);
    await events.return(undefined);
  });

  it("receives a resync again and again without notifications, while there is another server", async () => {
    const changes = { databaseListenUrl: "postgres://unknown@127.0.0.1:1/none" };
    const [one, other] = [await servers.start(changes), await servers.start(changes)];
    const events = eventsOf(await other.send("GET", "/feed"));
    const next = async (): Promise<unknown> => (await events.next()).value?.data;
    try {
      expect(await next()).toMatchObject({ type: "state" });
      await one.client.threads.create();
      // Nothing else has changed at this server.
      expect(await next()).toMatchObject({ type: "resync" });
      expect(await next()).toMatchObject({ type: "resync" });
    } finally {
      await events.return(undefined);
    }
  });

  it("receives what changes a thread outside of runs at the other server", async () => {
    const [one, other] = await startBoth(join(projectFolder, "langgraph.json"));
    const { thread_id } = await one.client.threads.create();
    const input = { messages: [{ role: "user", content: "hello" }] };
    await one.client.runs.wait(thread_id, "agent", { input });
    const args = { path: "undone.md", content: "long ".repeat(2_000) };
    await one.send("POST", `/threads/${thread_id}/tools/create_file/run`, { args });
    const answer = await one.send("GET", `/threads/${thread_id}/operations`);
    const { operations } = Cards.parse(await answer.json());
    const events = eventsOf(await other.send("GET", `/threads/${thread_id}/stream`))[Symbol.asyncIterator]();
    try {
      // A first event of a run shows that the other server has subscribed.
      const { run_id } = await one.client.runs.create(thread_id, "agent", { input });
      expect((await events.next()).value).toMatchObject({ event: "metadata", id: `${run_id}.0` });
      await one.client.runs.join(thread_id, run_id);
      await one.send("POST", `/threads/${thread_id}/operations/${operations[0]?.operation_id}/undo`);
      let next = await events.next();
      while (next.done !== true && next.value.id !== undefined) next = await events.next();
      expect(next.value).toMatchObject({ data: { type: "operation_undone", path: "undone.md" } });
    } finally {
      await events.return?.(undefined);
    }
  });

  it.each([
    ["with notifications", {}],
    ["by polling, without notifications", { databaseListenUrl: "postgres://unknown@127.0.0.1:1/none" }],
  ])("of a namespace receives each change of the current thread at the other server, %s", async (_name, changes) => {
    const [one, other] = [await servers.start(changes), await servers.start(changes)];
    const events = eventsOf(await other.send("GET", "/namespaces/mine/stream"));
    const next = async (): Promise<unknown> => (await events.next()).value?.data;
    try {
      expect(await next()).toMatchObject({ thread_id: null });
      const { thread_id } = Thread.parse(await (await one.send("POST", "/namespaces/mine/current", {})).json());
      expect(await next()).toMatchObject({ thread_id });
      await one.client.threads.delete(thread_id);
      expect(await next()).toMatchObject({ thread_id: null });
    } finally {
      await events.return(undefined);
    }
  });

  it("of local models receives what the other server has found, and lists those of an address that was set there", async () => {
    const [ollama, elsewhere] = [await new OllamaServer().start(), await new OllamaServer().start()];
    elsewhere.models = [{ name: "elsewhere:7b", digest: "e1" }];
    const [one, other] = [
      await servers.start({ ollamaBaseUrl: ollama.url }),
      await servers.start({ ollamaBaseUrl: ollama.url }),
    ];
    const events = eventsOf(await other.send("GET", "/ollama/stream"));
    try {
      expect((await events.next()).value).toMatchObject({ data: { status: "RUNNING" } });
      expect((await events.next()).value).toMatchObject({ data: { models: [] } });
      await one.send("GET", "/ollama/models");
      ollama.models = [{ name: "new:3b", digest: "d1" }];
      await one.send("GET", "/ollama/models");
      expect((await events.next()).value).toMatchObject({ data: { added: ["new:3b"] } });
      await one.send("PUT", "/providers/ollama", { base_url: elsewhere.url });
      await expect.poll(async () => await (await other.send("GET", "/models")).text()).toContain("ollama:elsewhere:7b");
    } finally {
      await events.return(undefined);
      await Promise.all([ollama.stop(), elsewhere.stop()]);
    }
  });
});
