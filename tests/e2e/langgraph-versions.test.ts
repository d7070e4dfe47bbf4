import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Client, StreamMode } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { graphOf, installVersions, langgraphVersions } from "../support/setup/langgraph-versions.ts";
import { ServerProcess } from "../support/processes/server-process.ts";

const installed = await installVersions();
if (installed === undefined) {
  process.stderr.write(
    "SKIPPED: the versions of LangGraph are not installed, and there is no registry to install them from.\n",
  );
}

interface Values {
  parts?: string[];
  signed?: string;
  messages?: { type: string; content: string }[];
  __interrupt__?: { value: unknown }[];
}

interface Used {
  day: { requests: number; total_tokens: number };
}

/** Holds the answers to what graphs ask until it is opened. */
class Gate {
  readonly asked: string[] = [];
  readonly #held: ServerResponse[] = [];
  readonly #server: Server;
  #isOpen = false;
  #requested = Promise.withResolvers<void>();

  constructor() {
    this.#server = createServer((request, response) => {
      this.asked.push(request.url ?? "");
      if (this.#isOpen || request.url?.endsWith("/first") === true) response.end();
      else this.#held.push(response);
      this.#requested.resolve();
      this.#requested = Promise.withResolvers<void>();
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    // A server that listens on a port has an address.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async hasAsked(path: string): Promise<void> {
    while (!this.asked.includes(path)) await this.#requested.promise;
  }

  open(): void {
    this.#isOpen = true;
    for (const response of this.#held.splice(0)) response.end();
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

describe.skipIf(installed === undefined)("folders with a LangGraph of their own", () => {
  const gate = new Gate();
  let gateUrl: string;
  let folder: string;
  let server: ServerProcess;
  let client: Client;
  beforeAll(async () => {
    gateUrl = await gate.listen();
    folder = await mkdtemp(join(tmpdir(), "millrace-versions-"));
    await mkdir(join(folder, "workspace"));
    server = new ServerProcess(folder, join(folder, "workspace"));
    server.configure({ MILLRACE_GRAPHS: join(installed ?? "", "langgraph.json") });
    await server.start();
    client = server.client;
  }, 180_000);
  afterAll(async () => {
    await server.stop();
    await gate.close();
    await rm(folder, { recursive: true, force: true });
  });

  const newThread = async (): Promise<string> => (await client.threads.create()).thread_id;
  const run = async (graph: string, thread: string | null, options: object): Promise<Values> => {
    // The values of every graph here are an object; a thread that is not there makes another overload, with the same answer.
    return (await client.runs.wait(thread as string, graph, options)) as Values;
  };
  const say = (content: string): object => ({ input: { messages: [{ role: "user", content }] } });
  const contents = ({ messages = [] }: Values): string[] => messages.map(({ content }) => content);
  /** The events of a run, each with its name. */
  const events = async (graph: string, streamMode: StreamMode[], options: object): Promise<[string, unknown][]> => {
    const received: [string, unknown][] = [];
    for await (const { event, data } of client.runs.stream(null, graph, { streamMode, ...options })) {
      if (event !== "metadata") received.push([event, data]);
    }
    return received;
  };
  const dataOf = (received: [string, unknown][], name: string): unknown[] =>
    received.filter(([event]) => event === name).map(([, data]) => data);

  const names = { input: { names: ["a", "b"] } };
  const question = { question: "who signs?" };

  describe.each(langgraphVersions)("LangGraph %s", (version) => {
    const chat = graphOf("chat", version);
    const work = graphOf("work", version);
    const knowsCommands = version !== "0.2.20";

    it("remembers the turns of a conversation, and has its state and history", async () => {
      const thread = await newThread();
      await run(chat, thread, say("hi"));
      expect(contents(await run(chat, thread, say("again")))).toEqual(["hi", "begin 1", "again", "begin 3"]);
      const state = await client.threads.getState<Values>(thread);
      expect(contents(state.values)).toEqual(["hi", "begin 1", "again", "begin 3"]);
      expect(state.next).toEqual([]);
      const history = await client.threads.getHistory<Values>(thread);
      expect(history.map(({ next }) => next)).toEqual([[], ["answer"], ["__start__"], [], ["answer"], ["__start__"]]);
      await client.threads.updateState(thread, {
        values: { messages: [{ role: "user", content: "by hand" }] },
        asNode: "answer",
      });
      expect(contents((await client.threads.getState<Values>(thread)).values).at(-1)).toBe("by hand");
      const [, former] = await client.threads.getHistory<Values>(thread);
      const forked = await run(chat, thread, { ...say("fork"), checkpointId: former?.checkpoint.checkpoint_id });
      expect(contents(forked)).toEqual(["hi", "begin 1", "again", "begin 3", "fork", "begin 5"]);
    });

    it("has what its model calls use counted, waited for or streamed", async () => {
      const used = async () => ((await (await fetch(`${server.url}/usage`)).json()) as Used).day;
      const { requests, total_tokens } = await used();
      await run(chat, await newThread(), say("hi"));
      await events(chat, ["messages-tuple"], say("hi"));
      expect(await used()).toMatchObject({ requests: requests + 2, total_tokens: total_tokens + 14 });
    });

    it("streams values, updates and the pieces of an answer", async () => {
      const modes: StreamMode[] = ["values", "updates", "messages-tuple"];
      const received = await events(chat, modes, say("hi"));
      expect(dataOf(received, "values").map((values) => contents(values as Values))).toEqual([
        ["hi"],
        ["hi", "begin 1"],
      ]);
      expect(dataOf(received, "updates")).toMatchObject([{ answer: { messages: [{ content: "begin 1" }] } }]);
      const pieces = dataOf(received, "messages").map((data) => (data as [{ content: string }])[0].content);
      expect(pieces.join("")).toBe("begin 1");
      expect(pieces).toHaveLength(7);
    });

    it("streams an answer as it grows, and whole", async () => {
      const received = await events(chat, ["messages"], say("hi"));
      const grown = dataOf(received, "messages/partial").map((data) => (data as { content: string }[])[0]?.content);
      expect(grown).toEqual(["b", "be", "beg", "begi", "begin", "begin ", "begin 1"]);
      expect(dataOf(received, "messages/metadata")).toHaveLength(1);
      expect(dataOf(received, "messages/complete").at(-1)).toMatchObject([{ type: "ai", content: "begin 1" }]);
    });

    it.each([{ durability: "sync" }, { durability: "async" }, { durability: "exit" }, { checkpointDuring: false }])(
      "keeps its checkpoints with %j",
      async (options) => {
        const thread = await newThread();
        await run(chat, thread, { ...say("hi"), ...options });
        const history = await client.threads.getHistory<Values>(thread);
        expect(history.map(({ next }) => next)).toEqual([[], ["answer"], ["__start__"]]);
        expect(contents((await client.threads.getState<Values>(thread)).values)).toEqual(["hi", "begin 1"]);
      },
    );

    it("streams its tasks and its checkpoints", async () => {
      const received = await events(chat, ["tasks", "checkpoints", "debug"], say("hi"));
      expect(dataOf(received, "tasks")).toMatchObject([
        { name: "answer", triggers: expect.any(Array) },
        { name: "answer" },
      ]);
      expect(dataOf(received, "checkpoints")).toMatchObject([
        { next: ["__start__"] },
        { next: ["answer"], checkpoint: { checkpoint_ns: "" } },
        { next: [] },
      ]);
      expect(dataOf(received, "debug")).toHaveLength(5);
    });

    it("asks, and goes on with the answer", async () => {
      const thread = await newThread();
      const asked = await run(work, thread, names);
      expect(asked.parts?.toSorted()).toEqual(["a!", "b!"]);
      expect(asked.__interrupt__).toMatchObject([{ value: question }]);
      const waiting = await client.threads.get(thread);
      expect(waiting.status).toBe("interrupted");
      expect(Object.values(waiting.interrupts).flat()).toMatchObject([{ value: question }]);
      const state = await client.threads.getState(thread);
      expect(state.next).toEqual(["sign"]);
      expect(state.tasks).toMatchObject([{ name: "sign", interrupts: [{ value: question }] }]);
      if (knowsCommands) {
        await run(work, thread, { command: { resume: "ada" } });
      } else {
        await client.threads.updateState(thread, { values: { signed: "ada" }, asNode: "part" });
        await run(work, thread, { input: null });
      }
      expect((await client.threads.get(thread)).status).toBe("idle");
      const { values } = await client.threads.getState<Values>(thread);
      expect(values).toMatchObject({ parts: ["a!", "b!", "by ada"], signed: "ada" });
    });

    it.each<StreamMode[][]>([[["values"]], [["updates"]], [["messages-tuple"]]])(
      "says that it waits, whatever is streamed: %j",
      async (modes) => {
        const received = await events(work, modes, names);
        const interrupts = received.filter(
          ([, data]) => typeof data === "object" && data !== null && "__interrupt__" in data,
        );
        const expected = { __interrupt__: [{ value: question }] };
        expect(interrupts).toMatchObject(modes.includes("messages-tuple") ? [] : modes.map((mode) => [mode, expected]));
      },
    );

    it("stops before the step it is to stop before", async () => {
      const graph = graphOf("breakpoint", version);
      const thread = await newThread();
      expect(await run(graph, thread, names)).toMatchObject({ parts: ["one"] });
      expect((await client.threads.get(thread)).status).toBe("interrupted");
      expect(await run(graph, thread, { input: null })).toMatchObject({ parts: ["one", "two"] });
      expect((await client.threads.get(thread)).status).toBe("idle");
      const last = dataOf(await events(graph, ["values"], names), "values").at(-1);
      expect(last).toMatchObject(version.startsWith("0.2.") ? { parts: ["one"] } : { __interrupt__: [] });
    });

    it("begins with a past that happened elsewhere", async () => {
      const graphId = graphOf("breakpoint", version);
      const { thread_id: thread } = await client.threads.create({
        graphId,
        supersteps: [
          { updates: [{ values: { parts: ["before"] }, asNode: "__start__" }] },
          { updates: [{ values: { parts: ["one"] }, asNode: "first" }] },
        ],
      });
      expect((await client.threads.get(thread)).status).toBe("interrupted");
      expect(await run(graphId, thread, { input: null })).toMatchObject({ parts: ["before", "one", "two"] });
    });

    it("has the store of the server", async () => {
      const options = { input: {}, config: { configurable: { tone: `tone of ${version}` } } };
      expect(await run(graphOf("keeper", version), null, options)).toMatchObject({ parts: [`tone of ${version}`] });
    });
  });

  describe.each(langgraphVersions.slice(1))("LangGraph %s, which takes commands,", (version) => {
    const work = graphOf("work", version);

    it("keeps what is left to be done in a copy, and when its past is pruned", async () => {
      const thread = await newThread();
      await run(work, thread, { ...names, interruptBefore: ["part"] });
      const { thread_id: copy } = await client.threads.copy(thread);
      await client.threads.prune([thread], { strategy: "keep_latest" });
      for (const id of [thread, copy]) {
        expect((await client.threads.getState(id)).next).toEqual(["part", "part"]);
        expect(await run(work, id, { input: null })).toMatchObject({ parts: ["a!", "b!"] });
      }
    });

    it.each(["work", "nested"] as const)("takes an answer by the id of the question: %s", async (name) => {
      const thread = await newThread();
      const graph = graphOf(name, version);
      await run(graph, thread, names);
      const waiting = await fetch(`${server.url}/threads/${thread}/approvals`);
      const [approval] = (await waiting.json()) as { id: string }[];
      const answered = await fetch(`${server.url}/threads/${thread}/approvals/${approval?.id}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ type: "answer", text: "ada" }),
      });
      expect(answered.status).toBeLessThan(300);
      const [last] = await client.runs.list(thread);
      await client.runs.join(thread, last?.run_id ?? "");
      expect((await client.threads.get(thread)).status).toBe("idle");
      expect((await client.threads.getState<Values>(thread)).values.signed).toBe("ada");
    });

    it("goes on in the newest version with what it has begun", async () => {
      const thread = await newThread();
      await run(work, thread, names);
      const answered = await run(graphOf("work", "1.7.3"), thread, { command: { resume: "ada" } });
      expect(answered).toMatchObject({ parts: ["a!", "b!", "by ada"], signed: "ada" });
      expect(await run(graphOf("work", "1.7.3"), thread, { input: { names: ["c"] } })).toMatchObject({
        parts: ["a!", "b!", "by ada", "c!"],
      });
      const history = await client.threads.getHistory(thread);
      expect(history.at(-1)?.next).toEqual(["__start__"]);
    });
  });

  it("says which version takes a command, for a graph of an older one", async () => {
    const refused = run(graphOf("work", "0.2.20"), null, { command: { resume: "ada" } });
    await expect(refused).rejects.toThrow(/400.*0\.2\.20.*0\.2\.24/su);
  });

  it("each goes on after the server was killed, and repeats nothing that has ended", { timeout: 180_000 }, async () => {
    const begun = await Promise.all(
      langgraphVersions.map(async (version) => {
        const thread = await newThread();
        const input = { gate: `${gateUrl}/${version}`, names: [] };
        const { run_id } = await client.runs.create(thread, graphOf("lasting", version), { input });
        await gate.hasAsked(`/${version}/second`);
        return { version, thread, run_id };
      }),
    );
    await server.kill();
    gate.open();
    await server.start();
    for (const { version, thread, run_id } of begun) {
      expect(await client.runs.join(thread, run_id)).toMatchObject({ parts: ["one", "two", "a!", "b!"] });
      expect(gate.asked.filter((path) => path === `/${version}/first`)).toHaveLength(1);
      expect((await client.runs.get(thread, run_id)).status).toBe("success");
    }
  });
});
