import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { StreamController } from "@langchain/langgraph-sdk/stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let model: ModelServer;
let workflow: TestServer;
let others: TestServer;
let withOwnPackages: TestServer;

beforeAll(async () => {
  model = await startModelServer({
    handler: ({ messages }): ModelStep => {
      const last = messages.at(-1);
      if (last?.role === "tool") return { text: "The file is gone." };
      if (String(last?.content).includes("Tidy up")) {
        return { text: "I remove it.", toolCalls: [{ name: "delete_file", arguments: { path: "old.txt" } }] };
      }
      return { reasoning: "A greeting.", text: "Good day to you." };
    },
  });
  workflow = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
  others = await startTestServer();
  withOwnPackages = await startTestServer({}, undefined, "packages of their own");
});
afterAll(async () => {
  await Promise.all([workflow.remove(), others.remove(), withOwnPackages.remove()]);
  await model.close();
});

const transports = ["sse", "websocket"] as const;
type Transport = (typeof transports)[number];

/** The SDK's handle on a thread, over either transport. */
function threadOf({ url }: TestServer, assistantId: string, transport: Transport, threadId = crypto.randomUUID()) {
  const client = new Client({ apiUrl: url });
  return client.threads.stream(threadId, {
    assistantId,
    ...(transport === "websocket"
      ? // The SDK needs the browser's WebSocket; that of `ws` has the same interface.
        { transport, webSocketFactory: (address) => new WebSocket(address) as unknown as globalThis.WebSocket }
      : { transport }),
  });
}

const asks = (content: string) => ({ messages: [{ role: "user", content, id: crypto.randomUUID() }] });

interface StreamedMessage {
  text: PromiseLike<string> & AsyncIterable<string>;
}

describe.each(transports)("the SDK's ThreadStream over %s", (transport) => {
  it("returns the state after each step, and at the end the final state", async () => {
    const thread = threadOf(others, "counter", transport);
    const { values } = thread;
    await thread.run.start({ input: { value: 1 } });
    const seen: unknown[] = [];
    for await (const value of values) seen.push(value);
    expect(seen).toEqual([{ value: 1 }, { value: 2 }]);
    expect(await thread.output).toEqual({ value: 2 });
    await thread.close();
  });

  it.each([
    ["lent packages", () => others],
    ["packages of its own", () => withOwnPackages],
  ])("streams the text of the model of a graph with %s", async (_, served) => {
    const thread = threadOf(served(), "talker", transport);
    const { messages } = thread;
    await thread.run.start({ input: asks("Hi") });
    const pieces: string[] = [];
    for await (const message of messages) {
      for await (const text of (message as StreamedMessage).text) pieces.push(text);
      break;
    }
    expect(pieces).toEqual("Hello there".split(""));
    await thread.close();
  });

  it.each([
    ["lent packages", () => others],
    ["packages of its own", () => withOwnPackages],
  ])("has the channels of the transformers of a graph with %s, also after the end", async (_, served) => {
    const { url } = served();
    const threadId = crypto.randomUUID();
    const thread = new Client({ apiUrl: url }).threads.stream(threadId, {
      assistantId: "counted",
    });
    const { extensions } = thread;
    const early = extensions["letters"];
    await thread.run.start({ input: asks("Hi") });
    expect(await early).toBe(5);
    await thread.values;
    expect(await extensions["texts"]).toEqual(["begin"]);
    await thread.close();
  });

  it("finds subgraphs", async () => {
    const thread = threadOf(others, "nested", transport);
    const { subgraphs } = thread;
    await thread.run.start({ input: asks("Hi") });
    const names: string[] = [];
    for await (const graph of subgraphs) {
      names.push(graph.namespace.join("/").replace(/:[^/]+/gu, ""));
      break;
    }
    expect(names).toEqual(["inside"]);
    await thread.close();
  });

  it("throws the error of a failed run", async () => {
    const thread = threadOf(others, "failing", transport);
    const lifecycle = await thread.subscribe(["lifecycle"]);
    await thread.run.start({ input: { value: 1 } });
    const events: unknown[] = [];
    for await (const { params } of lifecycle) events.push(params.data);
    expect(events.at(-1)).toMatchObject({ event: "failed", error: "out of luck" });
    await thread.close();
  });

  it("takes a turn of the workflow through a call, a question and its answer", async () => {
    await writeFile(join(workflow.config.workspace, "old.txt"), "old");
    const thread = threadOf(workflow, "agent", transport);
    const tools = await thread.subscribe({ channels: ["tools"] });
    const lifecycle = await thread.subscribe(["lifecycle"]);
    await thread.run.start({ input: asks("Tidy up the workspace"), context: { mode: "free_work" } } as never);
    // The SDK ends what reads the tools at the end of this run, also where the next one was begun before it arrived.
    for await (const { params } of lifecycle) {
      if (params.namespace.length === 0 && (params.data as { event: string }).event === "interrupted") break;
    }
    expect([thread.interrupts.length, thread.interrupted]).toEqual([1, true]);
    const [asked] = thread.interrupts;
    expect(asked?.payload).toMatchObject({ action_requests: [{ name: "delete_file", args: { path: "old.txt" } }] });
    await thread.input.respond({
      namespace: asked?.namespace ?? [],
      interrupt_id: asked?.interruptId ?? "",
      response: { decisions: [{ type: "approve" }] },
    });
    const toolEvents: unknown[] = [];
    for await (const { params } of tools) toolEvents.push(params.data);
    expect(toolEvents).toMatchObject([
      { event: "tool-started", tool_name: "delete_file", input: { path: "old.txt" } },
      { event: "tool-finished", output: { type: "tool", status: "success", content: "Deleted old.txt." } },
    ]);
    await expect
      .poll(async () => (await workflow.client.threads.get(thread.threadId)).status, { timeout: 10_000 })
      .toBe("idle");
    const state = await thread.state.get({ namespace: [], keys: ["messages"] });
    expect(JSON.stringify(state)).toContain("The file is gone.");
    await thread.close();
  });

  it("streams the text of the workflow under its node, and reasoning separately", async () => {
    const thread = threadOf(workflow, "agent", transport);
    const { messages } = thread;
    await thread.run.start({ input: asks("Hello"), context: { mode: "free_work" } } as never);
    for await (const message of messages) {
      const streamed = message as StreamedMessage & { namespace: string[]; reasoning: PromiseLike<string> };
      expect(await streamed.text).toBe("Good day to you.");
      expect(await streamed.reasoning).toBe("A greeting.");
      expect(streamed.namespace).toHaveLength(1);
      break;
    }
    await thread.close();
  });
});

/** A network whose streams can be cut; it accepts no new ones until it is restored. */
function createNetwork() {
  const streams = new Set<AbortController>();
  let isUp = Promise.resolve();
  return {
    fetch: async (address: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const { url } = new Request(address, init);
      if (!url.endsWith("/stream/events")) return await fetch(address, init);
      await isUp;
      const cut = new AbortController();
      streams.add(cut);
      return await fetch(address, { ...init, signal: AbortSignal.any([cut.signal, init?.signal ?? cut.signal]) });
    },
    /** Returns a function that restores the network. */
    cut: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      isUp = promise;
      for (const stream of streams) stream.abort(new Error("cut"));
      streams.clear();
      return resolve;
    },
  };
}

describe("the SDK's StreamController", () => {
  it("receives the end of its run also when the next one started during a disconnect", async () => {
    const client = new Client({ apiUrl: others.url });
    const network = createNetwork();
    const controller = new StreamController<{ gate: string; passed: boolean }>({
      // The client of any state type is that of this one.
      client: client as Client<{ gate: string; passed: boolean }>,
      assistantId: "gated",
      queue: "server",
      fetch: network.fetch,
      reconnectDelayMs: () => 0,
    });
    const release = controller.activate();
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    const done = controller.submit({ gate: first });
    await expect.poll(() => controller.rootStore.getSnapshot().values.gate, { timeout: 10_000 }).toBe(first);
    const threadId = controller.rootStore.getSnapshot().threadId ?? "";
    await expect.poll(async () => (await client.threads.get(threadId)).status).toBe("busy");
    await controller.submit({ gate: second }, { multitaskStrategy: "enqueue" });
    const [queued] = await client.runs.list(threadId, { status: "pending" });
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(queued?.created_at ?? "") + 60);
    const mend = network.cut();
    openGate(first);
    await expect.poll(async () => (await client.runs.get(threadId, queued?.run_id ?? "")).status).toBe("running");
    mend();
    await done;
    openGate(second);
    await expect
      .poll(() => controller.rootStore.getSnapshot().values, { timeout: 10_000 })
      .toMatchObject({ gate: second, passed: true });
    release();
  });

  it("keeps a message sent during a run in the server's queue, and cancels it there", async () => {
    const client = new Client({ apiUrl: others.url });
    const controller = new StreamController<{ gate: string; passed: boolean }>({
      // The client of any state type is that of this one.
      client: client as Client<{ gate: string; passed: boolean }>,
      assistantId: "gated",
      queue: "server",
    });
    const release = controller.activate();
    const [first, second, third] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()];
    const done = controller.submit({ gate: first });
    await expect.poll(() => controller.rootStore.getSnapshot().values.gate, { timeout: 10_000 }).toBe(first);
    const threadId = controller.rootStore.getSnapshot().threadId ?? "";
    await expect.poll(async () => (await client.threads.get(threadId)).status).toBe("busy");
    const queued = (): number => controller.queueStore.getSnapshot().length;
    await controller.submit({ gate: second }, { multitaskStrategy: "enqueue" });
    await controller.submit({ gate: third }, { multitaskStrategy: "enqueue" });
    expect(queued()).toBe(2);
    expect(await client.runs.list(threadId, { status: "pending" })).toHaveLength(2);
    await controller.cancelQueued(controller.queueStore.getSnapshot()[1]?.id ?? "");
    expect(await client.runs.list(threadId, { status: "pending" })).toHaveLength(1);
    openGate(first);
    await done;
    openGate(second);
    await expect.poll(async () => (await client.threads.get(threadId)).status, { timeout: 10_000 }).toBe("idle");
    await expect.poll(queued, { timeout: 10_000 }).toBe(0);
    const runs = await client.runs.list(threadId);
    expect(runs.map(({ status }) => status).toSorted()).toEqual(["interrupted", "success", "success"]);
    await expect
      .poll(() => controller.rootStore.getSnapshot().values, { timeout: 10_000 })
      .toMatchObject({ gate: second, passed: true });
    release();
  });
});
