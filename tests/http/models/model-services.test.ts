import { afterAll, beforeAll, expect, it } from "vitest";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let sessions: SessionFixture;
beforeAll(async () => {
  sessions = await startSessions();
});
afterAll(() => sessions.close());

async function say(text: string): Promise<void> {
  const { thread_id } = await sessions.server.client.threads.create();
  const run = await sessions.server.client.runs.create(thread_id, "agent", {
    input: { messages: [{ role: "user", content: text }] },
    context: { mode: "reply", limits: { agentic_connection_retries: 0 } },
  });
  await sessions.server.client.runs.join(thread_id, run.run_id);
}

it("the state of a provider's models is shown, and the results of their requests are exported", async () => {
  const url = "/providers/openai/status";
  expect(await sessions.json("GET", url)).toEqual({ provider: "openai", state: "unknown", models: [] });
  sessions.model.push({ text: "Hello." });
  await say("Hi");
  expect(await sessions.json("GET", url)).toMatchObject({
    state: "working",
    models: [
      {
        model: "openai:scripted",
        state: "closed",
        in_flight: 0,
        statistics: { calls: 1, succeeded: 1, success_rate: 1 },
      },
    ],
  });
  for (let time = 0; time < 5; time += 1) {
    sessions.model.push({ fault: { kind: "status", status: 503 } });
    await say("Hi");
  }
  await say("Are you there?");
  sessions.model.assertFinished();
  const paused = {
    model: "openai:scripted",
    state: "open",
    statistics: { calls: 6, failed: 5, refused: 1, failures: { server: 5 }, last_failure: { error: "server" } },
  };
  expect(await sessions.json("GET", url)).toMatchObject({ state: "paused", models: [paused] });
  expect(await sessions.json("GET", "/statistics/models")).toMatchObject([paused]);
  const [, csv] = await sessions.ask("GET", "/statistics/models?format=csv");
  expect(csv).toMatch(/^model,state,calls,[^\r]*\r\n"openai:scripted",open,6,1,5,0,1,0\.16\d+,/u);
});

it("an unknown provider and an unknown format are refused", async () => {
  expect((await sessions.ask("GET", "/providers/unknown/status"))[0]).toBe(404);
  expect((await sessions.ask("GET", "/statistics/models?format=pdf"))[0]).toBe(400);
});
