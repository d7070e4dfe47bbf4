import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  // A model with a known price.
  fixture = await startSessions({ model: "openai:gpt-4o" });
});
afterAll(() => fixture.close());

const Used = z.object({
  requests: z.number(),
  input_tokens: z.number(),
  output_tokens: z.number(),
  cached_tokens: z.number(),
  cost: z.number(),
});
const Listed = z.array(z.looseObject({ run_id: z.string(), usage: Used.nullable() }));
const OfOwner = z.looseObject({ day: Used });
const list = async (search: string) => Listed.parse(await fixture.json("GET", `/runs?${search}`));

it("usage is in each run of the list, and the sum is the owner's usage", async () => {
  const id = await fixture.talk("hello", "and once more, at some length");
  const [newer, older] = await list(`thread_id=${id}`);
  expect(newer?.usage).toMatchObject({ requests: 1, output_tokens: expect.any(Number) });
  expect(newer?.usage?.input_tokens).toBeGreaterThan(older?.usage?.input_tokens ?? Infinity);
  const { day } = OfOwner.parse(await fixture.json("GET", "/usage"));
  expect((newer?.usage?.input_tokens ?? 0) + (older?.usage?.input_tokens ?? 0)).toBe(day.input_tokens);
  expect(await list(`run_id=${older?.run_id}`)).toEqual([older]);
});

it("usage includes every call of a run, and is deleted with the run", async () => {
  const { thread_id: id } = await fixture.server.client.threads.create();
  const call = { name: "list_files", arguments: { path: "" } };
  const usage = { input: 1000, output: 100, cached: 400 };
  fixture.model.push({ toolCalls: [call], usage }, { toolCalls: [call], usage }, { text: "Nothing there.", usage });
  const input = { messages: [{ role: "user", content: "look twice" }] };
  await fixture.server.client.runs.wait(id, "agent", { input, context: { mode: "free_work" } });
  const [run] = await list(`thread_id=${id}`);
  expect(run?.usage).toMatchObject({ requests: 3, input_tokens: 3000, output_tokens: 300, cached_tokens: 1200 });
  expect(run?.usage?.cost).toBeCloseTo(3 * ((1000 * 2.5 + 100 * 10) / 1e6));
  await fixture.server.client.runs.delete(id, run?.run_id ?? "");
  expect(await list(`run_id=${run?.run_id}`)).toEqual([]);
});

it("usage is zero for a run without model calls", async () => {
  const { thread_id: id } = await fixture.server.client.threads.create();
  await fixture.json("POST", `/threads/${id}/messages`, {
    graph_id: "agent",
    messages: [{ role: "user", content: "hello" }],
  });
  await fixture.ask("POST", `/threads/${id}/runs/wait`, { assistant_id: "agent", input: null });
  for (const { usage } of await list(`thread_id=${id}`)) expect(usage).toBeNull();
});
