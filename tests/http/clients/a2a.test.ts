import { access, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Role, TaskState, type AgentCard, type Part, type StreamResponse, type Task } from "@a2a-js/sdk";
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  type Client,
} from "@a2a-js/sdk/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const keys = { ada: "key-of-ada", bob: "key-of-bob" };
const tests = join(import.meta.dirname, "..", "..");
const graphs = {
  agent: join(tests, "../src/graph/workflow.ts:workflow"),
  asking: join(tests, "fixtures/graphs/asking.ts:graph"),
  react: join(tests, "fixtures/graphs/react-agent.ts:agent"),
  langchain: join(tests, "fixtures/graphs/langchain-agent.mjs:agent"),
  ...Object.fromEntries(
    ["talker", "gated", "failing"].map((name) => [name, join(tests, `support/test-graphs.ts:${name}`)]),
  ),
};

let server: TestServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-a2a-"));
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  server = await startTestServer({
    graphs: join(folder, "langgraph.json"),
    apiKeys: Object.entries(keys).map(([owner, key]) => ({ owner, key })),
  });
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

const versions = ["1.0", "0.3"] as const;
type Version = (typeof versions)[number];

/** The official client of an assistant, which uses this version of the protocol. */
async function clientOf(
  assistant: string,
  { version = "1.0", key = keys.ada }: { version?: Version; key?: string } = {},
): Promise<Client> {
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    headers.set("x-api-key", key);
    return fetch(input, { ...init, headers });
  };
  const legacyCompat = { enabled: true };
  const resolver = new DefaultAgentCardResolver({ fetchImpl, legacyCompat });
  const card: AgentCard = await resolver.resolve(server.url, `/.well-known/agent-card.json?assistant_id=${assistant}`);
  const supportedInterfaces = card.supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === version);
  const transports = [new JsonRpcTransportFactory({ fetchImpl, legacyCompat })];
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, { transports, cardResolver: resolver }),
  );
  return await factory.createFromAgentCard({ ...card, supportedInterfaces });
}

const bare = { metadata: undefined, filename: "", mediaType: "" };
const text = (value: string): Part => ({ ...bare, content: { $case: "text", value } });
const data = (value: unknown): Part => ({ ...bare, content: { $case: "data", value } });

function say(parts: Part[], place: { contextId?: string; taskId?: string } = {}, returnImmediately = false) {
  return {
    tenant: "",
    metadata: undefined,
    configuration: { acceptedOutputModes: [], taskPushNotificationConfig: undefined, returnImmediately },
    message: {
      messageId: crypto.randomUUID(),
      contextId: "",
      taskId: "",
      ...place,
      role: Role.ROLE_USER,
      parts,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    },
  };
}

function taskOf(answer: unknown): Task {
  if (typeof answer !== "object" || answer === null || !("status" in answer)) throw new Error("no task came");
  // The client has parsed the card.
  return answer as Task;
}

const send = async (client: Client, ...parameters: Parameters<typeof say>): Promise<Task> =>
  taskOf(await client.sendMessage(say(...parameters)));
const contentsOf = (task: Task): unknown[] =>
  task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => content?.value));
const asked = (task: Task): unknown[] => task.status?.message?.parts.map(({ content }) => content?.value) ?? [];

/** What a reader has at the end: each artifact joined as the protocol says, and every state in order. */
function readerOf() {
  const artifacts = new Map<string, string>();
  const states: (TaskState | undefined)[] = [];
  let task: Task | undefined;
  return {
    artifacts,
    states,
    task: () => taskOf(task),
    take({ payload }: StreamResponse): void {
      if (payload?.$case === "task") {
        task = payload.value;
        states.push(payload.value.status?.state);
        for (const { artifactId, parts } of payload.value.artifacts) {
          artifacts.set(artifactId, parts.map(({ content }) => String(content?.value)).join(""));
        }
      }
      if (payload?.$case === "statusUpdate") states.push(payload.value.status?.state);
      if (payload?.$case === "artifactUpdate") {
        const { artifact, append } = payload.value;
        const words = artifact?.parts.map(({ content }) => String(content?.value)).join("") ?? "";
        const before = append ? (artifacts.get(artifact?.artifactId ?? "") ?? "") : "";
        artifacts.set(artifact?.artifactId ?? "", before + words);
      }
    },
  };
}

describe("an agent card", () => {
  it("describes an assistant's URL, input modes and key, in both versions", async () => {
    const ask = (path: string, headers = {}) =>
      server.send("GET", path, undefined, { "x-api-key": keys.ada, ...headers });
    const older: unknown = await (await ask("/.well-known/agent-card.json?assistant_id=talker")).json();
    expect(older).toMatchObject({
      name: "talker",
      protocolVersion: "0.3",
      preferredTransport: "JSONRPC",
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/a2a\/[\w-]+$/u),
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ["text/plain", "application/json"],
      securitySchemes: { apiKey: { type: "apiKey", in: "header", name: "X-Api-Key" } },
    });
    expect(await (await ask("/a2a/talker/.well-known/agent-card.json")).json()).toEqual(older);
    const newer = await ask("/.well-known/agent-card.json?assistant_id=asking", { "a2a-version": "1.0" });
    expect(await newer.json()).toMatchObject({
      supportedInterfaces: [{ protocolVersion: "1.0" }, { protocolVersion: "0.3" }],
      defaultInputModes: ["application/json"],
      description: expect.stringContaining("no messages"),
    });
    expect((await ask("/a2a/unknown/.well-known/agent-card.json")).status).toBe(404);
    expect((await server.send("GET", "/.well-known/agent-card.json?assistant_id=talker")).status).toBe(401);
  });
});

describe.each(versions)("the official client, by version %s", (version) => {
  it("sends a message, and another one in the same context", async () => {
    const client = await clientOf("talker", { version });
    const first = await send(client, [text("Hello")]);
    expect([first.status?.state, contentsOf(first)]).toEqual([TaskState.TASK_STATE_COMPLETED, ["Hello there"]]);
    const second = await send(client, [text("Again")], { contextId: first.contextId });
    expect([second.contextId, second.id === first.id]).toEqual([first.contextId, false]);
    const { values } = (await (
      await server.send("GET", `/threads/${first.contextId}/state`, undefined, {
        "x-api-key": keys.ada,
      })
    ).json()) as { values: { messages: { content: string }[] } };
    expect(values.messages.map(({ content }) => content)).toEqual(["Hello", "Hello there", "Again", "Hello there"]);
    const known = await client.getTask({ tenant: "", id: first.id });
    expect([known.id, contentsOf(known)]).toEqual([first.id, ["Hello there"]]);
  });

  it("streams a reply word by word", async () => {
    const client = await clientOf("talker", { version });
    const reader = readerOf();
    let pieces = 0;
    for await (const event of client.sendMessageStream(say([text("Hello")]))) {
      if (event.payload?.$case === "artifactUpdate") pieces += 1;
      reader.take(event);
    }
    expect([...reader.artifacts.values()]).toEqual(["Hello there"]);
    expect(pieces).toBeGreaterThan(5);
    expect(reader.states.at(-1)).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(reader.states).toContain(TaskState.TASK_STATE_WORKING);
    const again = readerOf();
    for await (const event of client.resubscribeTask({ tenant: "", id: reader.task().id })) again.take(event);
    expect([...again.artifacts]).toEqual([...reader.artifacts]);
  });

  it("exchanges data if a graph has no messages, question by question in one task", async () => {
    const client = await clientOf("asking", { version });
    const first = await send(client, [data({})]);
    expect(first.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(asked(first)).toEqual([
      "What is your name?",
      { interrupt_id: expect.any(String), value: { question: "What is your name?" } },
    ]);
    const second = await send(client, [text("Ada")], { taskId: first.id, contextId: first.contextId });
    expect([second.id, asked(second)[0]]).toEqual([first.id, "How old are you, Ada?"]);
    // The context id alone also finds the open question.
    const third = await send(client, [text("36")], { contextId: first.contextId });
    expect([third.id, third.status?.state]).toEqual([first.id, TaskState.TASK_STATE_COMPLETED]);
    expect(contentsOf(third)).toEqual([{ name: "Ada", age: "36" }]);
    await expect(send(client, [text("37")], { taskId: first.id })).rejects.toThrow("waits for no answer");
    await expect(send(client, [text("Hello")])).rejects.toThrow('no channel "messages"');
  });

  it.each([
    ["yes", false],
    ["no", true],
  ])("answers an approval with %s", async (word, stays) => {
    const name = `old-${version}-${word}`;
    const folderOfNotes = join(server.config.workspace, name);
    await mkdir(folderOfNotes);
    await writeFile(join(folderOfNotes, "notes.md"), "x");
    const client = await clientOf("agent", { version });
    const waiting = await send(client, [text(`delete the folder ${name}`)]);
    expect(waiting.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(asked(waiting)[0]).toContain(name);
    const type = stays ? "reject" : "approve";
    // An approval in words, a rejection as data.
    const answer = stays ? data({ decisions: [{ type }] }) : text(word);
    const done = await send(client, [answer], { taskId: waiting.id });
    expect([done.id, done.status?.state]).toEqual([waiting.id, TaskState.TASK_STATE_COMPLETED]);
    const isThere = await access(folderOfNotes).then(
      () => true,
      () => false,
    );
    expect(isThere).toBe(stays);
  });

  it("cancels a task, and gets an error for what is not supported", async () => {
    const client = await clientOf("gated", { version });
    const task = await send(client, [data({ gate: crypto.randomUUID() })], {}, true);
    const stopped = await client.cancelTask({ tenant: "", id: task.id, metadata: undefined });
    expect(stopped.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(client.cancelTask({ tenant: "", id: task.id, metadata: undefined })).rejects.toThrow("over");
    await expect(client.getTask({ tenant: "", id: crypto.randomUUID() })).rejects.toThrow("not found");
    const raw: Part = { ...bare, content: { $case: "url", value: "http://127.0.0.1/x.png" } };
    await expect(send(client, [raw])).rejects.toThrow("files are not taken");
    const failed = await send(await clientOf("failing", { version }), [data({})]);
    expect([failed.status?.state, asked(failed)]).toEqual([TaskState.TASK_STATE_FAILED, ["out of luck"]]);
  });

  it("reconnects to a task that went on, and has everything once", async () => {
    const client = await clientOf("gated", { version });
    const gate = crypto.randomUUID();
    let id = "";
    for await (const { payload } of client.sendMessageStream(say([data({ gate })]))) {
      if (payload?.$case === "task") id = payload.value.id;
      // The run works: the connection is cut here.
      if (payload?.$case === "statusUpdate") break;
    }
    const reader = readerOf();
    for await (const event of client.resubscribeTask({ tenant: "", id })) {
      reader.take(event);
      openGate(gate);
    }
    expect(reader.states.at(-1)).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(reader.artifacts.size).toBe(1);
    const known = await client.getTask({ tenant: "", id });
    expect(contentsOf(known)).toEqual([{ gate, passed: true }]);
  });
});

describe("an assistant over A2A", () => {
  it("calls tools during its task", async () => {
    const reader = readerOf();
    const client = await clientOf("react");
    for await (const event of client.sendMessageStream(say([text("How is the weather?")]))) reader.take(event);
    expect([...reader.artifacts.values()]).toEqual(["It is sunny in Graz."]);
    expect(contentsOf(await client.getTask({ tenant: "", id: reader.task().id }))).toEqual(["It is sunny in Graz."]);
  });

  it("accepts yes or no in words for LangChain's approval of a call, and refuses other words", async () => {
    const client = await clientOf("langchain");
    const waiting = await send(client, [text("How is the weather?")]);
    expect(waiting.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    await expect(send(client, [text("It depends")], { taskId: waiting.id })).rejects.toThrow("yes or no");
    const done = await send(client, [text("yes")], { taskId: waiting.id });
    expect([done.id, contentsOf(done)]).toEqual([waiting.id, ["It is sunny in Graz."]]);
  });

  it("resumes after a reader's last event id", async () => {
    const gate = crypto.randomUUID();
    const held = await send(await clientOf("gated"), [data({ gate })], {}, true);
    const body = { jsonrpc: "2.0", id: 1, method: "tasks/resubscribe", params: { id: held.id } };
    const response = await server.send("POST", "/a2a/gated", body, { "x-api-key": keys.ada, "last-event-id": "0" });
    openGate(gate);
    const text = await response.text();
    // The former event, that the run works, is not sent again.
    expect(text.match(/"kind":"status-update"/gu)).toHaveLength(1);
    expect(text).toContain('"state":"completed"');
  });

  it("is not found by users who may not see it", async () => {
    const ada = await clientOf("talker");
    const bob = await clientOf("talker", { key: keys.bob });
    const task = await send(ada, [text("Hello")]);
    await expect(bob.getTask({ tenant: "", id: task.id })).rejects.toThrow("not found");
    await expect(bob.cancelTask({ tenant: "", id: task.id, metadata: undefined })).rejects.toThrow("not found");
    await expect(send(bob, [text("Hello")], { taskId: task.id })).rejects.toThrow("not found");
    await expect(send(bob, [text("Hello")], { contextId: task.contextId })).rejects.toThrow("404");
    expect((await server.send("POST", "/a2a/talker", {})).status).toBe(401);
  });

  it("starts one run for a request that is repeated with its key", async () => {
    const params = {
      message: { kind: "message", messageId: "m", role: "user", parts: [{ kind: "text", text: "Hello" }] },
    };
    const body = { jsonrpc: "2.0", id: 1, method: "message/send", params };
    const headers = { "x-api-key": keys.ada, "idempotency-key": crypto.randomUUID() };
    const first: unknown = await (await server.send("POST", "/a2a/talker", body, headers)).json();
    expect(first).toMatchObject({ result: { status: { state: "completed" } } });
    expect(await (await server.send("POST", "/a2a/talker", body, headers)).json()).toEqual(first);
  });

  it("returns the task of an answer, or of a message that led to a question, again for the same key", async () => {
    const status = z.object({ state: z.string() });
    const Answered = z.object({ result: z.object({ id: z.string(), contextId: z.string(), status }) });
    const ask = async (assistant: string, content: string, key: string, taskId?: string) => {
      const message = {
        kind: "message",
        messageId: key,
        role: "user",
        taskId,
        parts: [{ kind: "text", text: content }],
      };
      const body = { jsonrpc: "2.0", id: 1, method: "message/send", params: { message } };
      const headers = { "x-api-key": keys.ada, "idempotency-key": key };
      return Answered.parse(await (await server.send("POST", `/a2a/${assistant}`, body, headers)).json()).result;
    };
    const [begun, answer] = [crypto.randomUUID(), crypto.randomUUID()];
    const waiting = await ask("langchain", "How is the weather?", begun);
    expect(waiting.status.state).toBe("input-required");
    expect(await ask("langchain", "How is the weather?", begun)).toEqual(waiting);
    const done = await ask("langchain", "yes", answer, waiting.id);
    expect([done.id, done.status.state]).toEqual([waiting.id, "completed"]);
    expect(await ask("langchain", "yes", answer, waiting.id)).toEqual(done);
    const later = { assistant_id: "langchain", input: {}, after_seconds: 3600, multitask_strategy: "enqueue" };
    for (let count = 0; count < 25; count += 1) {
      await server.send("POST", `/threads/${done.contextId}/runs`, later, { "x-api-key": keys.ada });
    }
    expect(await ask("langchain", "yes", answer, waiting.id)).toEqual(done);
  });

  it("is refused if the queue is full, and its task is found after a restart", async () => {
    let own = await startTestServer({ graphs: join(folder, "langgraph.json"), queueLimit: 1, drainSeconds: 0.1 });
    try {
      const gate = crypto.randomUUID();
      const contextId = crypto.randomUUID();
      const parts = [{ kind: "data", data: { gate } }];
      const message = { kind: "message", messageId: "m", role: "user", parts, contextId };
      const params = { message, configuration: { blocking: false } };
      const body = { jsonrpc: "2.0", id: 1, method: "message/send", params };
      const begun = z.object({ result: z.object({ id: z.string() }) });
      const { id } = begun.parse(await (await own.send("POST", "/a2a/gated", body)).json()).result;
      await own.send("POST", "/a2a/gated", body);
      const refused = await own.send("POST", "/a2a/gated", body);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
      await own.close();
      own = await own.restart();
      openGate(gate);
      const again = { jsonrpc: "2.0", id: 2, method: "tasks/resubscribe", params: { id } };
      const text = await (await own.send("POST", "/a2a/gated", again)).text();
      expect(text).toContain('"state":"completed"');
      expect(text).toContain('"passed":true');
    } finally {
      await own.remove();
    }
  });

  it("answers invalid requests with errors of the protocol, and refuses push notifications", async () => {
    const codeOf = async (body: unknown, headers = {}): Promise<unknown> => {
      const answer = await server.send("POST", "/a2a/talker", body, { "x-api-key": keys.ada, ...headers });
      return ((await answer.json()) as { error: { code: number } }).error.code;
    };
    const rpc = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 1, method, params });
    expect(await codeOf([])).toBe(-32600);
    expect(await codeOf(rpc("tasks/fly"))).toBe(-32601);
    expect(await codeOf(rpc("message/send", { message: {} }))).toBe(-32602);
    expect(await codeOf(rpc("tasks/pushNotificationConfig/get", { id: "x" }))).toBe(-32003);
    expect(await codeOf(rpc("SendMessage"), { "a2a-version": "9.0" })).toBe(-32009);
  });
});
