import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openRulesServers, type RulesServers } from "../../support/rules-servers.ts";
import type { TestServer } from "../../support/test-server.ts";

// The rules are a module of this process: what they do before a user reads a thread is handed to them here.
const shared: typeof globalThis & { beforeRead?: (user: string) => Promise<void> } = globalThis;
const rules = `.authenticate((request) => request.headers.get("x-user") ?? "anonymous")
  .on("threads:read", async ({ user }) => { await globalThis.beforeRead?.(user.identity); })`;

const file = join(import.meta.dirname, "../../support/test-graphs.ts");
const graphs = { talker: `${file}:talker`, asker: `${file}:asker` };
let servers: RulesServers;
let server: TestServer;
beforeAll(async () => {
  servers = await openRulesServers();
  server = await servers.serve(rules, {}, { graphs });
});
afterAll(async () => {
  delete shared.beforeRead;
  await servers.remove();
});

type Send = (user: string) => Promise<unknown>;

/** Sends a request twice: the first one is held before it reads its thread for the nth time, until the other is answered. */
async function sendTwice(place: number, send: Send): Promise<{ held: unknown; other: unknown }> {
  const [reached, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let reads = 0;
  shared.beforeRead = async (user) => {
    if (user !== "held") return;
    reads += 1;
    if (reads !== place) return;
    reached.resolve();
    await released.promise;
  };
  const held = send("held");
  await Promise.race([reached.promise, held]);
  const other = await send("other");
  released.resolve();
  return { held: await held, other };
}

const Task = z.object({ result: z.object({ id: z.string(), contextId: z.string() }) });
const post = async (path: string, body: object, headers: object): Promise<unknown> =>
  await (await server.send("POST", path, body, { ...headers })).json();

/** Sends A2A's message to the asker. */
async function say(message: object, headers: object): Promise<unknown> {
  const params = { message: { kind: "message", messageId: "m", role: "user", ...message } };
  return await post("/a2a/asker", { jsonrpc: "2.0", id: 1, method: "message/send", params }, headers);
}

async function a2aAnswer(by: "taskId" | "contextId"): Promise<Send> {
  const { result } = Task.parse(await say({ parts: [{ kind: "data", data: {} }] }, { "x-user": "other" }));
  const place = by === "taskId" ? { taskId: result.id } : { contextId: result.contextId };
  const message = { parts: [{ kind: "text", text: "yes" }], ...place };
  return async (user) => await say(message, { "x-user": user, "idempotency-key": "k" });
}

async function chatCompletion(): Promise<Send> {
  const thread = crypto.randomUUID();
  const user = (content: string): object => ({ role: "user", content });
  const begin = [user("Good morning")];
  const named = { "x-thread-id": thread };
  await post("/v1/chat/completions", { model: "talker", messages: begin }, { ...named, "x-user": "other" });
  const messages = [...begin, { role: "assistant", content: "Hello there" }, user("Good evening")];
  return async (name) =>
    await post(
      "/v1/chat/completions",
      { model: "talker", messages },
      { ...named, "x-user": name, "idempotency-key": "k" },
    );
}

async function response(): Promise<Send> {
  const before = await post("/v1/responses", { model: "talker", input: "Good morning" }, { "x-user": "other" });
  const { id } = z.object({ id: z.string() }).parse(before);
  const body = { model: "talker", input: "Good evening", previous_response_id: id };
  return async (user) => await post("/v1/responses", body, { "x-user": user, "idempotency-key": "k" });
}

async function protocolAnswer(): Promise<Send> {
  const path = `/threads/${crypto.randomUUID()}`;
  const headers = { "x-user": "other" };
  await post(`${path}/runs/wait`, { assistant_id: "asker", input: {}, if_not_exists: "create" }, headers);
  const Waiting = z.object({ interrupts: z.record(z.string(), z.array(z.object({ id: z.string() }))) });
  const { interrupts } = Waiting.parse(await (await server.send("GET", path, undefined, headers)).json());
  const params = { interrupt_id: Object.values(interrupts).flat()[0]?.id, response: "yes" };
  const Answer = z.object({ result: z.object({ run_id: z.string() }) });
  return async (user) => {
    const under = { "x-user": user, "idempotency-key": "k" };
    return Answer.parse(await post(`${path}/commands`, { id: 1, method: "input.respond", params }, under));
  };
}

/** As many reads of its thread as a request does before it is admitted. */
const reads = 10;

describe.each(
  Object.entries({
    "an answer to a task of A2A": () => a2aAnswer("taskId"),
    "an answer in a context of A2A": () => a2aAnswer("contextId"),
    "an answer by the event protocol": protocolAnswer,
    "a chat completion": chatCompletion,
    "a response": response,
  }),
)("%s that comes twice under one key", (_name, prepare) => {
  it.each(Array.from({ length: reads }, (_, index) => index + 1))(
    "is answered twice the same, also if one overtakes the other before its read %i",
    async (place) => {
      const send = await prepare();
      const { held, other } = await sendTwice(place, send);
      expect(held).toEqual(other);
      expect(held).not.toHaveProperty("error", expect.anything());
    },
  );
});
