import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { ModelCallDetails, ModelCallSummary } from "../../../src/sessions/overview/model-calls.ts";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const Trace = z.object({ spans: z.array(z.object({ kind: z.string(), model_call_id: z.string().nullable() })) });
const Wire = z.object({ messages: z.array(z.unknown()), tools: z.array(z.unknown()).optional() });

/** A run that calls its model three times, with tools between. */
async function toolRun(): Promise<{ path: string; thread_id: string; sent: z.infer<typeof Wire>[]; run_id: string }> {
  const { thread_id } = await fixture.server.client.threads.create();
  const first = fixture.model.requests.length;
  fixture.model.push({ toolCalls: [{ name: "list_files", arguments: { path: "." } }] });
  fixture.model.push({ toolCalls: [{ name: "read_file", arguments: { path: "none.txt" } }] });
  fixture.model.push({ text: "Done." });
  const input = { messages: [{ role: "user", content: "Look around" }] };
  await fixture.server.client.runs.wait(thread_id, "agent", { input, context: { mode: "free_work" } });
  const [run] = await fixture.server.client.runs.list(thread_id);
  const sent = fixture.model.requests.slice(first).map(({ raw }) => Wire.parse(JSON.parse(raw)));
  return { path: `/threads/${thread_id}/runs/${run?.run_id}/requests`, thread_id, sent, run_id: run?.run_id ?? "" };
}

const list = async (path: string) => z.array(ModelCallSummary).parse(await fixture.json("GET", path));
const details = async (path: string) => ModelCallDetails.parse(await fixture.json("GET", path));

describe("the requests of a run", () => {
  it("are each stored as they were sent, newest first, also after a restart", async () => {
    const { path, sent } = await toolRun();
    expect(sent).toHaveLength(3);
    const calls = await list(path);
    expect(calls.map(({ number, node }) => `${number} ${node}`)).toEqual(["3 free_work", "2 free_work", "1 free_work"]);
    for (const [index, request] of sent.entries()) {
      const answer = await fixture.server.send("GET", `${path}/${index + 1}`);
      const text = await answer.text();
      // The text itself, since the comparison is about bytes.
      expect(text).toContain(`"messages":${JSON.stringify(request.messages)}`);
      expect(text).toContain(`"tools":${JSON.stringify(request.tools)}`);
      expect(ModelCallDetails.parse(JSON.parse(text))).toMatchObject({
        is_exact: true,
        model: "openai:scripted",
        endpoint: { url: `${fixture.model.url}/chat/completions`, messages_field: "messages" },
      });
    }
  });

  it("contain the differences from the one before: within a turn only additions", async () => {
    const { path, sent } = await toolRun();
    expect((await details(`${path}/1`)).difference).toBeNull();
    const { difference } = await details(`${path}/2`);
    expect(difference).toMatchObject({
      number: 1,
      same_messages: sent[0]?.messages.length,
      former_messages: [],
      tools_changed: false,
      other_changes: [],
      cache_break: null,
    });
    expect(difference?.messages).toEqual(sent[1]?.messages.slice(sent[0]?.messages.length));
    expect(difference?.same_bytes).toBeGreaterThan(JSON.stringify(sent[0]?.messages).length - 3);
    expect(difference?.same_bytes).toBeLessThan(difference?.bytes ?? 0);
  });

  it("contain the differences from the run before too, with the offered and chosen tools", async () => {
    const { thread_id, run_id } = await toolRun();
    fixture.model.push({ text: "Again." });
    const input = { messages: [{ role: "user", content: "And now?" }] };
    const context = { mode: "free_work", temperature: 0.9, tools: ["read_file"] };
    await fixture.server.client.runs.wait(thread_id, "agent", { input, context });
    const [run] = await fixture.server.client.runs.list(thread_id);
    const { difference } = await details(`/threads/${thread_id}/runs/${run?.run_id}/requests/1`);
    expect(difference).toMatchObject({ run_id, number: 3, tools_changed: true });
    expect(difference?.other_changes).toContain("temperature");
    expect(difference?.cache_break).toMatchObject({ part: "tools" });
  });

  it.each([{ source: "by its log" }, { source: "by its state", streamMode: ["values" as const] }])(
    "are those of the model calls in the trace, also of a continued reply: $source",
    async ({ streamMode = ["messages-tuple" as const, "tasks" as const] }) => {
      const { client } = fixture.server;
      const { thread_id } = await client.threads.create();
      fixture.model.push({ toolCalls: [{ name: "list_files", arguments: { path: "." } }] });
      fixture.model.push({ text: "It is a long", finishReason: "length" });
      fixture.model.push({ text: " story." });
      const input = { messages: [{ role: "user", content: "Look around" }] };
      const { run_id } = await client.runs.create(thread_id, "agent", {
        input,
        context: { mode: "free_work" },
        streamMode,
        streamSubgraphs: true,
      });
      await client.runs.join(thread_id, run_id);
      const path = `/threads/${thread_id}/runs/${run_id}`;
      const calls = await list(`${path}/requests`);
      const { spans } = Trace.parse(await fixture.json("GET", `${path}/trace`));
      const models = spans.filter(({ kind }) => kind === "model");
      const numbers = models.map((span) =>
        calls.flatMap(({ number, model_call_id }) => (model_call_id === span.model_call_id ? [number] : [])),
      );
      expect(numbers).toEqual([[1], [3, 2]]);
      expect(spans.filter(({ kind, model_call_id }) => kind !== "model" && model_call_id !== null)).toEqual([]);
      expect((await details(`${path}/requests/1`)).model_call_id).toBe(models[0]?.model_call_id);
    },
  );

  it("400 and 404: invalid numbers, and those of other runs and threads", async () => {
    const { path, thread_id, run_id } = await toolRun();
    const status = async (wanted: string): Promise<number> => (await fixture.server.send("GET", wanted)).status;
    expect(await status(`${path}/0`)).toBe(400);
    expect(await status(`${path}/x`)).toBe(400);
    expect(await status(`${path}/4`)).toBe(404);
    expect(await status(path.replace(run_id, crypto.randomUUID()))).toBe(404);
    const other = await fixture.server.client.threads.create();
    expect(await status(path.replace(thread_id, other.thread_id))).toBe(404);
    expect(await status(`${path.replace(thread_id, other.thread_id)}/1`)).toBe(404);
  });
});
