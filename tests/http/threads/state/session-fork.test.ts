import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startTestServer } from "../../../support/test-server.ts";
import { startSessions, type SessionFixture } from "../../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const Thread = z.looseObject({
  thread_id: z.string(),
  status: z.string(),
  metadata: z.record(z.string(), z.unknown()),
});
const Run = z.looseObject({ run_id: z.string() });
const words = async (id: string): Promise<string[]> => (await fixture.messages(id)).map(({ content }) => content);
const fork = async (id: string, body: object): Promise<z.infer<typeof Thread>> =>
  Thread.parse(await fixture.json("POST", `/threads/${id}/fork`, body));

/** Starts a rerun and waits for its end. */
async function rerun(id: string, messageId: string, body: object): Promise<void> {
  const { run_id } = Run.parse(await fixture.json("POST", `/threads/${id}/messages/${messageId}/rerun`, body));
  await fixture.server.client.runs.join(id, run_id);
}

describe("a fork", () => {
  it("at any message has everything up to it, and both threads continue independently", async () => {
    const id = await fixture.talk("hello one", "hello two", "hello three");
    const all = await fixture.messages(id);
    for (const [index, message] of all.entries()) {
      const copy = await fork(id, { message_id: message.id });
      expect(await fixture.messages(copy.thread_id), message.content).toEqual(all.slice(0, index + 1));
      expect(copy).toMatchObject({
        status: "idle",
        metadata: { forked_from: { thread_id: id, message_id: message.id } },
      });
    }
    const copy = await fork(id, { message_id: all[1]?.id, name: "Another way" });
    await fixture.say(copy.thread_id, "hello four");
    expect(await words(copy.thread_id)).toEqual(["hello one", "re: hello one", "hello four", "re: hello four"]);
    expect(JSON.stringify(fixture.model.requests.at(-1)?.messages)).not.toContain("hello two");
    await fixture.say(id, "hello five");
    expect((await words(id)).slice(0, 6)).toEqual(all.map(({ content }) => content));
    expect(await fixture.json("GET", `/threads/${copy.thread_id}/info`)).toMatchObject({ name: "Another way" });
  });

  it("keeps the session's settings: a rerun of a message has the context of the last run", async () => {
    const { thread_id: id } = await fixture.server.client.threads.create();
    const context = { mode: "reply", identity_in_workflow: false, temperature: 0.25 };
    fixture.model.push({ text: "re: one" });
    await fixture.server.client.runs.wait(id, "agent", {
      input: { messages: [{ role: "user", content: "one" }] },
      context,
    });
    const [message] = await fixture.messages(id);
    const copies = [
      await fork(id, { message_id: message?.id }),
      Thread.parse(await fixture.server.client.threads.copy(id)),
      Thread.parse(await fixture.server.client.threads.copy((await fork(id, { message_id: message?.id })).thread_id)),
    ];
    for (const { thread_id } of copies) {
      const before = fixture.model.requests.length;
      fixture.model.push({ text: "again" });
      await rerun(thread_id, message?.id ?? "", {});
      expect(fixture.model.requests.length).toBe(before + 1);
      expect(fixture.model.requests.at(-1)?.raw).toContain('"temperature":0.25');
    }
  });

  it("keeps the earlier states, so that it can be rerun from them", async () => {
    const id = await fixture.talk("hello one", "hello two");
    const all = await fixture.messages(id);
    const copy = await fork(id, { message_id: all[3]?.id });
    const [before, after] = await Promise.all(
      [id, copy.thread_id].map((one) => fixture.server.client.threads.getHistory(one, { limit: 100 })),
    );
    expect(after?.length).toBe(before?.length);
    fixture.model.push({ text: "again" });
    await rerun(copy.thread_id, all[0]?.id ?? "", { content: "hello zero" });
    expect(await words(copy.thread_id)).toEqual(["hello zero", "again"]);
  });

  it("at a call includes its results; at one of the results, all of them", async () => {
    const id = await fixture.talk("hello one");
    const calls = ["a", "b"].map((name) => ({ id: `call_${name}`, name: "read_file", args: { path: name } }));
    const ids = ["calls", "first", "second"].map((name) => `${name}-${crypto.randomUUID()}`);
    await fixture.json("POST", `/threads/${id}/messages`, {
      messages: [
        { id: ids[0], role: "assistant", content: "", tool_calls: calls },
        { id: ids[1], role: "tool", tool_call_id: "call_a", content: "A" },
        { id: ids[2], role: "tool", tool_call_id: "call_b", content: "B" },
        { role: "assistant", content: "both read" },
      ],
    });
    for (const message_id of ids) {
      const copy = await fork(id, { message_id });
      expect((await fixture.messages(copy.thread_id)).slice(-3).map((one) => one.id)).toEqual(ids);
    }
  });

  it("of a thread with pruned states has the messages too", async () => {
    const id = await fixture.talk("hello one", "hello two");
    const all = await fixture.messages(id);
    await fixture.json("POST", "/threads/prune", { thread_ids: [id], strategy: "keep_latest" });
    const copy = await fork(id, { message_id: all[1]?.id });
    expect(await fixture.messages(copy.thread_id)).toEqual(all.slice(0, 2));
    await fixture.say(copy.thread_id, "hello on");
    expect(await words(copy.thread_id)).toEqual(["hello one", "re: hello one", "hello on", "re: hello on"]);
    const [status, text] = await fixture.ask("POST", `/threads/${id}/messages/${all[2]?.id}/rerun`, {});
    expect([status, text]).toEqual([409, expect.stringContaining("fork")]);
  });

  it("without a message is a full copy; of an unknown thread or message it is 404 and creates none", async () => {
    const id = await fixture.talk("hello all");
    const copy = await fork(id, { name: "All of it" });
    expect(await words(copy.thread_id)).toEqual(["hello all", "re: hello all"]);
    expect(copy.metadata["name"]).toBe("All of it");
    const count = await fixture.server.client.threads.count();
    expect((await fixture.ask("POST", `/threads/${id}/fork`, { message_id: "unknown-message" }))[0]).toBe(404);
    expect((await fixture.ask("POST", `/threads/${crypto.randomUUID()}/fork`, {}))[0]).toBe(404);
    expect(await fixture.server.client.threads.count()).toBe(count);
  });
});

describe("a rerun of a message", () => {
  it("that is repeated with its key is the same run, also when that is over", async () => {
    const id = await fixture.talk("hello one", "hello two");
    const [, , message] = await fixture.messages(id);
    const again = async (): Promise<string> => {
      const path = `/threads/${id}/messages/${message?.id}/rerun`;
      const response = await fixture.server.send("POST", path, { content: "hello 2" }, { "idempotency-key": "once" });
      return Run.parse(await response.json()).run_id;
    };
    fixture.model.push({ text: "changed" });
    const run = await again();
    expect(await again()).toBe(run);
    await fixture.server.client.runs.join(id, run);
    expect(await again()).toBe(run);
    expect(await words(id)).toEqual(["hello one", "re: hello one", "hello 2", "changed"]);
  });

  it("replaces it and removes what followed; the history still has it", async () => {
    const id = await fixture.talk("hello one", "hello two", "hello three");
    const before = await fixture.messages(id);
    fixture.model.push({ text: "another answer" });
    await rerun(id, before[2]?.id ?? "", { content: "hello changed" });
    const after = await fixture.messages(id);
    expect(after.map(({ content }) => content)).toEqual([
      "hello one",
      "re: hello one",
      "hello changed",
      "another answer",
    ]);
    expect(after[2]?.additional_kwargs).toMatchObject({ edited_from: before[2]?.id });
    expect(JSON.stringify(fixture.model.requests.at(-1)?.messages)).not.toMatch(/hello (two|three)/u);
    const history = await fixture.server.send("GET", `/threads/${id}/history?limit=100`);
    expect(await history.text()).toContain("hello three");
    await fixture.say(id, "hello on");
    expect((await words(id)).slice(2)).toEqual(["hello changed", "another answer", "hello on", "re: hello on"]);
  });

  it("without new text repeats it with the last run's context; a reply stands for its question", async () => {
    const id = await fixture.talk("hello one", "hello two");
    const before = await fixture.messages(id);
    fixture.model.push({ text: "second try" }, { text: "third try" });
    await rerun(id, before[3]?.id ?? "", { context: { temperature: 0.5 } });
    expect(await words(id)).toEqual(["hello one", "re: hello one", "hello two", "second try"]);
    expect(fixture.model.requests.at(-1)).toMatchObject({ body: { temperature: 0.5 } });
    const [last] = await fixture.server.client.runs.list(id, { limit: 1 });
    expect(z.looseObject({ kwargs: z.looseObject({ context: z.unknown() }) }).parse(last).kwargs.context).toEqual({
      mode: "reply",
      temperature: 0.5,
    });
    await rerun(id, before[0]?.id ?? "", {});
    expect(await words(id)).toEqual(["hello one", "third try"]);
  });

  it("keeps its attachments", async () => {
    const id = await fixture.talk("hello one");
    const attachments = [{ type: "file", path: "a.md", name: "a.md", mime_type: "text/markdown", size: 3 }];
    fixture.model.push({ text: "seen" }, { text: "seen again" });
    const message = { role: "user", content: "look", additional_kwargs: { attachments } };
    await fixture.server.client.runs.wait(id, "agent", { input: { messages: [message] }, context: { mode: "reply" } });
    const stored = (await fixture.messages(id))[2];
    await rerun(id, stored?.id ?? "", { content: "look again" });
    expect((await fixture.messages(id))[2]).toMatchObject({
      content: "look again",
      additional_kwargs: { attachments },
    });
  });

  it("is refused without a user's message, with an unknown id, and during a run", async () => {
    const { thread_id: id } = await fixture.server.client.threads.create();
    await fixture.json("POST", `/threads/${id}/messages`, {
      messages: [{ id: "greeting-1", role: "assistant", content: "Welcome" }],
      graph_id: "agent",
    });
    const asked = (message: string) => fixture.ask("POST", `/threads/${id}/messages/${message}/rerun`, {});
    expect(await asked("greeting-1")).toEqual([409, expect.stringContaining("user has said nothing")]);
    expect((await asked("greeting-2"))[0]).toBe(404);
    const other = await startTestServer({ drainSeconds: 0 });
    const { thread_id: busy } = await other.client.threads.create();
    const input = { messages: [{ role: "user", content: "hi", id: "said-by-user" }] };
    await other.client.runs.wait(busy, "talker", { input });
    await other.client.runs.create(busy, "gated", { input: { gate: "rerun" } });
    const response = await other.send("POST", `/threads/${busy}/messages/said-by-user/rerun`, {});
    expect([409, 404, 422]).toContain(response.status);
    await other.remove();
  });
});
