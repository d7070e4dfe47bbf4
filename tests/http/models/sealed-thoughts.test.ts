import { afterAll, beforeAll, expect, it } from "vitest";
import { wire } from "../../models/vendors/vendor-model.ts";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const sealed = /gAAAAABo-\w+/gu;

it("encrypted reasoning is sent back to the vendor, and to no client", async () => {
  const { client } = fixture.server;
  const { thread_id } = await client.threads.create();
  fixture.model.push({ wire: wire("openai-sealed.sse") }, { text: "Both are missing." });
  const stream = client.runs.stream(thread_id, "agent", {
    input: { messages: [{ role: "user", content: "Read a.txt and b.txt" }] },
    context: { mode: "free_work", model: "openai:gpt-5-codex", limits: { max_force_continue: 0 } },
    streamMode: ["values", "updates", "messages-tuple", "messages", "debug", "tasks", "checkpoints"],
    streamSubgraphs: true,
    streamResumable: true,
  });
  const answers: unknown[] = [];
  for await (const event of stream) answers.push(event);
  expect(JSON.stringify(answers)).toContain("Both are missing.");
  expect(fixture.model.requests.at(-1)?.raw.match(sealed)).toEqual(["gAAAAABo-first", "gAAAAABo-second"]);
  const [run] = await client.runs.list(thread_id);
  for await (const event of client.runs.joinStream(thread_id, run?.run_id ?? "", { lastEventId: "-1" })) {
    answers.push(event);
  }
  answers.push(await client.threads.getState(thread_id, undefined, { subgraphs: true }));
  answers.push(await client.threads.getHistory(thread_id, { limit: 100 }));
  answers.push(await fixture.json("GET", `/threads/${thread_id}/messages`));
  expect(JSON.stringify(answers)).toContain("I read them.");
  expect(JSON.stringify(answers)).not.toMatch(sealed);
});
