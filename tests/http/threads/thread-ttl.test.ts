import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const Timed = z.looseObject({
  thread_id: z.string(),
  ttl: z.looseObject({ expires_at: z.string() }).optional(),
});

/** Six milliseconds, in minutes. */
const instant = 0.0001;
const statusOf = async (id: string): Promise<number> => (await server.send("GET", `/threads/${id}`)).status;
const ttlOf = async (id: string): Promise<unknown> => {
  return Timed.parse(await (await server.send("GET", `/threads/${id}?include=ttl`)).json()).ttl;
};

describe("a thread with a TTL", () => {
  it("returns it on request, and keeps it over a restart", async () => {
    const before = Date.now();
    const { thread_id: id, ttl } = Timed.parse(await (await server.send("POST", "/threads", { ttl: 60 })).json());
    expect(ttl).toEqual({ strategy: "delete", ttl_minutes: 60, expires_at: expect.any(String) });
    expect(Date.parse(ttl?.expires_at ?? "")).toBeGreaterThanOrEqual(before + 3_600_000);
    await server.close();
    server = await server.restart();
    expect(await ttlOf(id)).toEqual(ttl);
    expect(await (await server.send("GET", `/threads/${id}`)).json()).not.toHaveProperty("ttl");
    expect(await server.client.threads.get(id)).not.toHaveProperty("ttl");
  });

  it("gets another one, or none, by an update", async () => {
    const { thread_id: id } = await server.client.threads.create({ ttl: { ttl: 60 } });
    await server.client.threads.update(id, { metadata: { a: 1 } });
    expect(await ttlOf(id)).toMatchObject({ ttl_minutes: 60, strategy: "delete" });
    await server.send("PATCH", `/threads/${id}`, { ttl: { ttl: 90, strategy: "keep_latest" } });
    expect(await ttlOf(id)).toMatchObject({ ttl_minutes: 90, strategy: "keep_latest" });
    await server.client.threads.update(id, { ttl: 30 });
    expect(await ttlOf(id)).toMatchObject({ ttl_minutes: 30, strategy: "delete" });
    await server.send("PATCH", `/threads/${id}`, { ttl: null });
    expect(await ttlOf(id)).toBeUndefined();
    expect(await server.client.threads.get(id)).toMatchObject({ metadata: { a: 1 } });
  });

  it("is deleted with its states and runs when it expires; others are kept", async () => {
    const { thread_id: stays } = await server.client.threads.create({ ttl: 60 });
    const { thread_id: id } = await server.client.threads.create();
    await server.client.runs.wait(id, "counter", { input: { value: 1 } });
    const [run] = await server.client.runs.list(id);
    await server.client.threads.update(id, { ttl: instant });
    await expect.poll(() => statusOf(id)).toBe(404);
    expect((await server.send("GET", `/runs/${run?.run_id}/stream`)).status).toBe(404);
    expect(await statusOf(stays)).toBe(200);
  });

  it("that expired while the server was down is deleted after the start", async () => {
    const { thread_id: id } = await server.client.threads.create({ ttl: 60 });
    await server.close();
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 2 * 3_600_000 });
    try {
      server = await server.restart();
      await expect.poll(() => statusOf(id)).toBe(404);
    } finally {
      vi.useRealTimers();
    }
  });

  it("with the strategy keep_latest is kept, with its newest state only", async () => {
    const { thread_id: id } = await server.client.threads.create();
    for (const value of [1, 2]) await server.client.runs.wait(id, "counter", { input: { value } });
    const { checkpoint } = await server.client.threads.getState(id);
    await server.send("PATCH", `/threads/${id}`, { ttl: { ttl: instant, strategy: "keep_latest" } });
    await expect.poll(async () => (await server.client.threads.getHistory(id)).length).toBe(1);
    expect(await server.client.threads.getState(id)).toMatchObject({ checkpoint, values: { value: 3 } });
  });

  it("is kept during a run", async () => {
    const { thread_id: id } = await server.client.threads.create();
    const { thread_id: other } = await server.client.threads.create();
    await server.client.runs.create(id, "gated", { input: { gate: "ttl" } });
    for (const thread of [id, other]) await server.client.threads.update(thread, { ttl: instant });
    await expect.poll(() => statusOf(other)).toBe(404);
    expect(await statusOf(id)).toBe(200);
    await server.client.runs.list(id).then(([run]) => server.client.runs.cancel(id, run?.run_id ?? "", true));
    await expect.poll(() => statusOf(id)).toBe(404);
  });

  it.each([0, -1, "60", { strategy: "delete" }, { ttl: 0 }, { ttl: 1, strategy: "burn" }, 4_300_000_000, 1e300])(
    "cannot have the TTL %j",
    async (ttl) => {
      expect((await server.send("POST", "/threads", { ttl })).status).toBe(400);
      const { thread_id: id } = await server.client.threads.create();
      expect((await server.send("PATCH", `/threads/${id}`, { ttl })).status).toBe(400);
    },
  );
});
