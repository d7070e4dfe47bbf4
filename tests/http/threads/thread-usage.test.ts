import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let sessions: SessionFixture;
beforeAll(async () => {
  sessions = await startSessions();
});
afterAll(() => sessions.close());

describe("/threads/:id/usage", () => {
  it("has the usage of a thread, the cache savings and the cost, and can be reset", async () => {
    const { thread_id } = await sessions.server.client.threads.create();
    sessions.model.push({ text: "Hello.", usage: { input: 1000, output: 100, cached: 750 } });
    const run = await sessions.server.client.runs.create(thread_id, "agent", {
      input: { messages: [{ role: "user", content: "Hi" }] },
      context: { mode: "reply", limits: { price: { input: 2, output: 10 } } },
    });
    await sessions.server.client.runs.join(thread_id, run.run_id);
    const used = {
      requests: 1,
      total_tokens: 1100,
      prompt_tokens: 1000,
      completion_tokens: 100,
      cached_tokens: 750,
      cost: (1000 * 2 + 100 * 10) / 1e6,
      cache_hit_ratio: 0.75,
      average_tokens: 1100,
    };
    const url = `/threads/${thread_id}/usage`;
    expect(await sessions.json("GET", `${url}?seconds=600`)).toMatchObject({
      since: null,
      session: used,
      window: used,
      runs: [{ run_id: run.run_id, ...used }],
      recent: [{ run_id: run.run_id, model: "openai:scripted", cached_tokens: 750 }],
    });
    expect(await sessions.json("DELETE", url)).toMatchObject({ session: { requests: 0 }, runs: [], recent: [] });
    await sessions.say(thread_id, "Once more");
    expect(await sessions.json("GET", url)).toMatchObject({ session: { requests: 1 } });
  });

  it("refuses an invalid number, and an unknown thread", async () => {
    const { thread_id } = await sessions.server.client.threads.create();
    expect((await sessions.ask("GET", `/threads/${thread_id}/usage?last=many`))[0]).toBe(400);
    expect((await sessions.ask("GET", `/threads/${crypto.randomUUID()}/usage`))[0]).toBe(404);
    expect((await sessions.ask("DELETE", `/threads/${crypto.randomUUID()}/usage`))[0]).toBe(404);
  });
});
