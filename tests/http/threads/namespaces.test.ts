import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { eventsOf } from "@millrace/testing/read-events";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const ada = { "x-api-key": "key-of-ada" };
const bob = { "x-api-key": "key-of-bob" };
const Thread = z.looseObject({ thread_id: z.string() });

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    apiKeys: [
      { owner: "ada", key: "key-of-ada" },
      { owner: "bob", key: "key-of-bob" },
    ],
  });
});
afterAll(() => server.remove());

async function ask(of: TestServer, method: string, path: string, headers: Record<string, string>, body?: object) {
  const response = await of.send(method, path, body, headers);
  const text = await response.text();
  return {
    status: response.status,
    text,
    id: response.ok ? Thread.safeParse(JSON.parse(text)).data?.thread_id : undefined,
  };
}

test("a namespace keeps its current thread over a restart, and gets a new one when that is deleted", async () => {
  const path = `/namespaces/${encodeURIComponent("项目 a")}/current`;
  const none = await ask(server, "GET", path, ada);
  expect([none.status, none.text]).toEqual([404, expect.stringContaining("has no current thread")]);
  const first = await ask(server, "POST", path, ada, { metadata: { name: "First" } });
  expect(JSON.parse(first.text)).toMatchObject({ name: "First", message_count: 0 });
  expect((await ask(server, "POST", path, ada, { metadata: { name: "Second" } })).id).toBe(first.id);
  const other = Thread.parse(await (await server.send("POST", "/threads", {}, ada)).json()).thread_id;
  expect((await ask(server, "PUT", path, ada, { thread_id: other })).id).toBe(other);
  // It comes back unchanged, with its open question (SESS-08).
  const run = { assistant_id: "asker", input: { answer: "" } };
  await (await server.send("POST", `/threads/${other}/runs/wait`, run, ada)).text();
  const left = await Promise.all([path, `/threads/${other}`].map((one) => ask(server, "GET", one, ada)));
  await server.close();
  server = await server.restart();
  const found = await Promise.all([path, `/threads/${other}`].map((one) => ask(server, "GET", one, ada)));
  expect(found.map(({ text }): unknown => JSON.parse(text))).toEqual(left.map(({ text }): unknown => JSON.parse(text)));
  expect(JSON.parse(found[0]?.text ?? "")).toMatchObject({ thread_id: other, status: "interrupted" });
  await server.send("DELETE", `/threads/${other}`, undefined, ada);
  expect((await ask(server, "GET", path, ada)).status).toBe(404);
  const fresh = await ask(server, "POST", path, ada);
  expect([first.id, other]).not.toContain(fresh.id);
  expect((await ask(server, "GET", path, ada)).id).toBe(fresh.id);
});

test("each owner has separate namespaces, and switches only to their own threads", async () => {
  const path = "/namespaces/default/current";
  const adas = await ask(server, "POST", path, ada);
  expect((await ask(server, "GET", path, bob)).status).toBe(404);
  const missing = crypto.randomUUID();
  const foreign = await ask(server, "PUT", path, bob, { thread_id: adas.id });
  const unknown = await ask(server, "PUT", path, bob, { thread_id: missing });
  expect(foreign.status).toBe(404);
  expect(foreign.text.replace(adas.id ?? "", "")).toBe(unknown.text.replace(missing, ""));
  expect((await ask(server, "GET", "/namespaces", bob)).text).toBe("[]");
  const bobs = await ask(server, "POST", path, bob);
  expect(bobs.id).not.toBe(adas.id);
  expect((await ask(server, "GET", path, ada)).id).toBe(adas.id);
  const all: unknown = JSON.parse((await ask(server, "GET", "/namespaces", ada)).text);
  expect(all).toEqual(expect.arrayContaining([expect.objectContaining({ namespace: "default", thread_id: adas.id })]));
});

test.each(["a%2Fb", "%00", "x".repeat(101), "a%5Cb"])("%s is no valid name of a namespace", async (name) => {
  expect((await ask(server, "POST", `/namespaces/${name}/current`, ada)).status).toBe(400);
});

/** Subscribes to a namespace; `next` returns the thread of the next event. */
async function follow(namespace: string, headers: Record<string, string>) {
  const response = await server.send("GET", `/namespaces/${namespace}/stream`, undefined, headers);
  const events = eventsOf(response)[Symbol.asyncIterator]();
  return {
    async next(): Promise<unknown> {
      const { value } = await events.next();
      expect(value).toMatchObject({ event: "session_changed", data: { type: "session_changed", namespace } });
      const change: unknown = value?.data;
      const { thread_id } = z.object({ thread_id: z.string().nullable(), time: z.iso.datetime() }).parse(change);
      expect(value?.id).toBe(thread_id ?? "none");
      return thread_id;
    },
    leave: () => events.return?.(undefined),
  };
}

const newThread = async (headers: Record<string, string>): Promise<string> =>
  Thread.parse(await (await server.send("POST", "/threads", {}, headers)).json()).thread_id;

test("a subscriber of a namespace receives each change, also a deletion, and none of other namespaces", async () => {
  const path = "/namespaces/followed/current";
  const reader = await follow("followed", ada);
  const other = await follow("followed", bob);
  expect(await reader.next()).toBe(null);
  expect(await other.next()).toBe(null);
  const made = (await ask(server, "POST", path, ada)).id;
  expect(await reader.next()).toBe(made);
  // Neither of these changes the current thread.
  await ask(server, "POST", path, ada);
  await ask(server, "PUT", path, ada, { thread_id: made });
  await ask(server, "POST", "/namespaces/elsewhere/current", ada);
  const second = await newThread(ada);
  await ask(server, "PUT", path, ada, { thread_id: second });
  expect(await reader.next()).toBe(second);
  expect((await ask(server, "GET", path, ada)).id).toBe(second);
  await server.send("DELETE", `/threads/${second}`, undefined, ada);
  expect(await reader.next()).toBe(null);
  const bobs = (await ask(server, "POST", path, bob)).id;
  expect(await other.next()).toBe(bobs);
  await reader.leave();
  await other.leave();
});

test("a subscriber that reconnects receives the current thread, unless it already has it", async () => {
  const path = "/namespaces/again/current";
  const first = (await ask(server, "POST", path, ada)).id ?? "";
  const second = await newThread(ada);
  const same = await follow("again", { ...ada, "last-event-id": first });
  await ask(server, "PUT", path, ada, { thread_id: second });
  expect(await same.next()).toBe(second);
  const late = await follow("again", { ...ada, "last-event-id": first });
  expect(await late.next()).toBe(second);
  await Promise.all([same.leave(), late.leave()]);
});

test("a created thread becomes the current one if the configuration says so (SESS-01, SESS-17)", async () => {
  const conversations = { ...server.config.conversations, defaultNamespace: "mine" };
  const own = await startTestServer({ conversations });
  try {
    const { thread_id } = await own.client.threads.create();
    expect((await ask(own, "GET", "/namespaces/mine/current", {})).id).toBe(thread_id);
    const { thread_id: second } = await own.client.threads.create();
    expect((await ask(own, "GET", "/namespaces/mine/current", {})).id).toBe(second);
  } finally {
    await own.remove();
  }
});
