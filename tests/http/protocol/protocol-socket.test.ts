import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import type { Config } from "@millrace/engine/config/config";
import { socketLimits } from "@millrace/engine/http/protocol/session/output";
import { isEnd, openEvents, type WireAnswer, type WireEvent } from "../../support/requests/protocol-client.ts";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer | undefined;
const sockets: WebSocket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  await server?.remove();
  server = undefined;
});

const start = async (changes: Partial<Config> = {}): Promise<TestServer> => (server = await startTestServer(changes));

/** A socket, with all its messages in order. */
async function connect(url: string, threadId: string, headers: Record<string, string> = {}) {
  const address = `${url.replace("http", "ws")}/threads/${threadId}/stream/events`;
  const socket = new WebSocket(address, { headers });
  sockets.push(socket);
  const came: (WireEvent | WireAnswer)[] = [];
  const waiting = new Set<() => void>();
  socket.on("message", (data: Buffer) => {
    // The server sends only answers and events.
    came.push(JSON.parse(data.toString()) as WireEvent | WireAnswer);
    for (const wake of waiting) wake();
  });
  await once(socket, "open");
  let commands = 0;
  const answerTo = (id: number | null): WireAnswer | undefined =>
    came.find((message): message is WireAnswer => message.type !== "event" && message.id === id);
  const until = async <Found>(find: () => Found | undefined): Promise<Found> => {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add(resolve);
      await promise;
      waiting.delete(resolve);
    }
  };
  return {
    socket,
    came,
    events: (): WireEvent[] => came.filter((message): message is WireEvent => message.type === "event"),
    send(method: string, params: object): Promise<WireAnswer> {
      const id = ++commands;
      socket.send(JSON.stringify({ id, method, params }));
      return until(() => answerTo(id));
    },
    sendText(text: string): Promise<WireAnswer> {
      socket.send(text);
      return until(() => answerTo(null));
    },
    ends: (count: number): Promise<unknown> =>
      until(() =>
        came.filter((message) => message.type === "event" && isEnd(message)).length >= count ? true : undefined,
      ),
  };
}

/** How a refused connection ends. */
async function refusal(url: string, threadId: string, headers: Record<string, string>): Promise<unknown> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/threads/${threadId}/stream/events`, { headers });
  sockets.push(socket);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  socket.on("unexpected-response", (_, response) => resolve(response.statusCode));
  socket.on("close", (code, reason) => resolve([code, reason.toString()]));
  socket.on("error", () => undefined);
  return promise;
}

describe("a WebSocket of the protocol", () => {
  it("takes commands and returns answers and events, over all runs of the thread", async () => {
    const { url } = await start();
    const client = await connect(url, crypto.randomUUID());
    const subscribed = await client.send("subscription.subscribe", { channels: ["lifecycle", "values"] });
    expect(subscribed).toMatchObject({
      type: "success",
      result: { subscription_id: expect.any(String), replayed_events: 0 },
    });
    const input = { assistant_id: "counter", input: { value: 1 } };
    expect(await client.send("run.start", input)).toMatchObject({
      type: "success",
      result: { run_id: expect.any(String) },
    });
    await client.ends(1);
    await client.send("run.start", input);
    await client.ends(2);
    const ofOne = ["lifecycle", "values", "values", "lifecycle"];
    expect(client.events().map(({ method }) => method)).toEqual([...ofOne, ...ofOne]);
  });

  it("drops a key that would set a prototype, as in a body", async () => {
    const { url, client } = await start();
    const threadId = crypto.randomUUID();
    const socket = await connect(url, threadId);
    const poisoned = JSON.parse('{"tone":"calm","__proto__":{"polluted":true}}') as object;
    const { result } = await socket.send("run.start", { assistant_id: "mirror", input: {}, context: { poisoned } });
    await client.runs.join(threadId, String(result["run_id"]));
    const state = await fetch(`${url}/threads/${threadId}/state`);
    expect(await state.text()).toContain('"context":{"poisoned":{"tone":"calm"}}');
  });

  it("answers a subscribe before the events that it replays, with their number", async () => {
    const running = await start();
    const threadId = crypto.randomUUID();
    const client = await connect(running.url, threadId);
    const { result } = await client.send("run.start", { assistant_id: "counter", input: { value: 1 } });
    await running.client.runs.join(threadId, String(result["run_id"]));
    const late = await connect(running.url, threadId);
    const answer = await late.send("subscription.subscribe", { channels: ["lifecycle", "values"] });
    expect(answer.result["replayed_events"]).toBe(4);
    await late.ends(1);
    expect(late.came[0]).toBe(answer);
    expect(late.came).toHaveLength(5);
    const record = await openEvents(running, threadId, { channels: ["lifecycle", "values"] });
    expect(late.events()).toEqual(await record.until(isEnd));
    await record.leave();
  });

  it("replays the events of an active run, then goes on", async () => {
    const { url } = await start();
    const threadId = crypto.randomUUID();
    const gate = crypto.randomUUID();
    const client = await connect(url, threadId);
    await client.send("subscription.subscribe", { channels: ["custom"] });
    await client.send("run.start", { assistant_id: "gated", input: { gate } });
    await expect.poll(() => client.events().length).toBe(1);
    const answer = await client.send("subscription.subscribe", { channels: ["lifecycle"] });
    expect(answer.result["replayed_events"]).toBeGreaterThanOrEqual(1);
    openGate(gate);
    await client.ends(1);
  });

  it("applies backpressure to a slow reader, while the run goes on", async () => {
    const running = await start();
    const threadId = crypto.randomUUID();
    const count = 1000;
    const client = await connect(running.url, threadId);
    await client.send("subscription.subscribe", { channels: ["custom", "lifecycle"], namespaces: [[]], depth: 0 });
    const { result } = await client.send("run.start", {
      assistant_id: "flood",
      input: { events: count, size: 10_000 },
    });
    client.socket.pause();
    await running.client.runs.join(threadId, String(result["run_id"]));
    client.socket.resume();
    await client.ends(1);
    const customEvents = client.events().filter(({ method }) => method === "custom");
    expect(customEvents.map(({ params }) => params.data["payload"])).toMatchObject(
      Array.from({ length: count }, (_, at) => ({ at })),
    );
  });

  it("sends the end of a run after the run's events of all its subscriptions", async () => {
    const running = await start();
    const threadId = crypto.randomUUID();
    const count = 1000;
    const first = await connect(running.url, threadId);
    const input = { events: count, size: 10_000 };
    const { result } = await first.send("run.start", { assistant_id: "flood", input });
    await running.client.runs.join(threadId, String(result["run_id"]));
    const late = await connect(running.url, threadId);
    const answers = ["lifecycle", "custom"].map((channel) =>
      late.send("subscription.subscribe", { channels: [channel] }),
    );
    await late.ends(1);
    await Promise.all(answers);
    expect(late.events().filter(({ method }) => method === "custom")).toHaveLength(count);
    expect(late.events().findIndex(isEnd)).toBe(late.events().length - 1);
  });

  it("sends no events of an ended subscription, and refuses an unknown one", async () => {
    const { url } = await start();
    const client = await connect(url, crypto.randomUUID());
    const lifecycle = await client.send("subscription.subscribe", { channels: ["lifecycle"] });
    const values = await client.send("subscription.subscribe", { channels: ["values"] });
    const { subscription_id } = values.result;
    expect(await client.send("subscription.unsubscribe", { subscription_id })).toMatchObject({ result: {} });
    expect(await client.send("subscription.unsubscribe", { subscription_id })).toMatchObject({
      type: "error",
      error: "no_such_subscription",
    });
    expect(lifecycle.type).toBe("success");
    await client.send("run.start", { assistant_id: "counter", input: { value: 1 } });
    await client.ends(1);
    expect(client.events().every(({ method }) => method === "lifecycle")).toBe(true);
    const wrong: [object, string][] = [
      [{ channels: [] }, "invalid_argument"],
      [{ channels: ["gossip"] }, "invalid_argument"],
    ];
    for (const [params, error] of wrong) {
      expect(await client.send("subscription.subscribe", params)).toMatchObject({ type: "error", error });
    }
    expect(await client.send("input.inject", {})).toMatchObject({ error: "unknown_command" });
  });

  it.each(["{", '{"id":"one","method":"state.get"}', "[".repeat(100_000)])(
    "answers %.20s, which is no command, with an error without an id, and stays open",
    async (text) => {
      const { url } = await start();
      const client = await connect(url, crypto.randomUUID());
      expect(await client.sendText(text)).toMatchObject({ type: "error", id: null, error: "invalid_argument" });
      expect(await client.send("agent.getTree", {})).toMatchObject({ type: "error", error: "no_such_run" });
    },
  );

  it("refuses commands beyond its limit of concurrent ones, and goes on", async () => {
    const { url } = await start();
    const client = await connect(url, crypto.randomUUID());
    const count = socketLimits.commands * 4;
    const answers = await Promise.all(
      Array.from({ length: count }, () => client.send("run.start", { assistant_id: "unknown", input: {} })),
    );
    const messages = answers.map(({ message }) => String(message));
    const refused = messages.filter((message) => message.includes(`At most ${socketLimits.commands} commands`));
    expect(refused.length).toBeGreaterThan(0);
    const done = messages.filter((message) => !refused.includes(message));
    expect(done.filter((message) => !message.includes("No assistant found"))).toEqual([]);
    expect(done.length).toBeGreaterThanOrEqual(socketLimits.commands);
    const started = await client.send("run.start", { assistant_id: "counter", input: { value: 1 } });
    expect(started.type).toBe("success");
  });

  it("refuses subscriptions beyond its limit, until one is ended", async () => {
    const { url } = await start();
    const client = await connect(url, crypto.randomUUID());
    const subscribe = () => client.send("subscription.subscribe", { channels: ["lifecycle"] });
    const open: WireAnswer[] = [];
    for (let count = 0; count < socketLimits.subscriptions; count++) open.push(await subscribe());
    expect(open.every(({ type }) => type === "success")).toBe(true);
    const refusal = expect.stringContaining(`at most ${socketLimits.subscriptions} subscriptions`);
    expect(await subscribe()).toMatchObject({ type: "error", error: "invalid_argument", message: refusal });
    const { subscription_id } = open[0]?.result ?? {};
    await client.send("subscription.unsubscribe", { subscription_id });
    expect((await subscribe()).type).toBe("success");
  });

  it("counts the replayed events only up to its buffer, and replays all of them", async () => {
    const running = await start();
    const threadId = crypto.randomUUID();
    const [count, size] = [300, 10_000];
    const client = await connect(running.url, threadId);
    const input = { events: count, size };
    const { result } = await client.send("run.start", { assistant_id: "flood", input });
    await running.client.runs.join(threadId, String(result["run_id"]));
    const late = await connect(running.url, threadId);
    const answer = await late.send("subscription.subscribe", { channels: ["custom", "lifecycle"] });
    expect(answer.result["replayed_events"]).toBeLessThan(socketLimits.counted.characters / size + 2);
    await late.ends(1);
    expect(late.events().filter(({ method }) => method === "custom")).toHaveLength(count);
  });

  it("is closed when the server stops, without delaying it", async () => {
    const running = await start();
    const client = await connect(running.url, crypto.randomUUID());
    await client.send("subscription.subscribe", { channels: ["values"] });
    const silent = await connect(running.url, crypto.randomUUID());
    const closed = Promise.all([client, silent].map(({ socket }) => once(socket, "close")));
    await running.close();
    for (const [code] of await closed) expect(code).toBe(1001);
  });
});

describe("access to a socket", () => {
  it("is refused for foreign origins and hosts, before it is accepted", async () => {
    const { url } = await start();
    const threadId = crypto.randomUUID();
    expect(await refusal(url, threadId, { origin: "https://evil.example" })).toBe(403);
    expect(await refusal(url, threadId, { host: "evil.example" })).toBe(403);
    const own = await connect(url, threadId, { origin: url });
    expect((await own.send("subscription.subscribe", { channels: ["values"] })).type).toBe("success");
  });

  it("closes with a code for the status that a request would have had", async () => {
    const { url } = await start({ apiKeys: [{ owner: "ada", key: "key-of-ada" }] });
    const threadId = crypto.randomUUID();
    const key = { "x-api-key": "key-of-ada" };
    expect(await refusal(url, threadId, {})).toEqual([4401, expect.stringContaining("API key is required")]);
    expect(await refusal(url, threadId, { "x-api-key": "wrong" })).toEqual([4401, expect.any(String)]);
    expect(await refusal(url, "nowhere", key)).toEqual([4400, expect.any(String)]);
    const client = await connect(url, threadId, key);
    expect(await client.send("run.start", { assistant_id: "counter", input: { value: 1 } })).toMatchObject({
      type: "success",
    });
  });

  it("accepts a key as a subprotocol, as browsers have to send it, and never echoes it", async () => {
    const { url } = await start({ apiKeys: [{ owner: "ada", key: "key-of-ada" }] });
    const address = `${url.replace("http", "ws")}/threads/${crypto.randomUUID()}/stream/events`;
    const coded = (text: string): string => Buffer.from(text).toString("base64url");
    const open = async (protocols: string[]): Promise<unknown> => {
      const socket = new WebSocket(address, protocols);
      sockets.push(socket);
      const { promise, resolve } = Promise.withResolvers<unknown>();
      // A refused connection is closed as it opens.
      socket.on("open", () => setImmediate(() => socket.ping()));
      socket.on("pong", () => resolve(socket.protocol));
      socket.on("close", (code) => resolve(code));
      socket.on("error", () => resolve("error"));
      return promise;
    };
    expect(await open(["millrace", `key.${coded("key-of-ada")}`])).toBe("millrace");
    expect(await open([`bearer.${coded("key-of-ada")}`, "millrace"])).toBe("millrace");
    expect(await open(["millrace"])).toBe(4401);
    expect(await open(["millrace", `key.${coded("wrong")}`])).toBe(4401);
    // A text that no header can contain is no key.
    expect(await open(["millrace", `key.${coded("key\r\nx-api-key: key-of-ada")}`])).toBe(4401);
  });

  it("gives an owner no events of another owner's thread, over either transport", async () => {
    const running = await start({
      apiKeys: [
        { owner: "ada", key: "key-of-ada" },
        { owner: "bob", key: "key-of-bob" },
      ],
    });
    const threadId = crypto.randomUUID();
    const bob = { "x-api-key": "key-of-bob" };
    const spy = await connect(running.url, threadId, bob);
    await spy.send("subscription.subscribe", { channels: ["lifecycle", "values"] });
    const ada = await connect(running.url, threadId, { "x-api-key": "key-of-ada" });
    await ada.send("subscription.subscribe", { channels: ["lifecycle"] });
    await ada.send("run.start", { assistant_id: "counter", input: { value: 1 } });
    await ada.ends(1);
    expect(await spy.send("state.get", {})).toMatchObject({ type: "error", error: "no_such_run" });
    expect(await spy.send("agent.getTree", {})).toMatchObject({ type: "error", error: "no_such_run" });
    expect(await spy.send("run.start", { assistant_id: "counter", input: {} })).toMatchObject({ type: "error" });
    const late = await spy.send("subscription.subscribe", { channels: ["lifecycle"] });
    expect(late.result["replayed_events"]).toBe(0);
    expect(spy.events()).toEqual([]);
    const adas = { "x-api-key": "key-of-ada" };
    const runs = await running.send("GET", `/threads/${threadId}/runs`, undefined, adas);
    expect(await runs.json()).toHaveLength(1);
  });
});
