import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { Branch } from "@millrace/engine/sessions/state/branches";
import { startTestServer } from "../../../support/test-server.ts";
import { startSessions, type SessionFixture } from "../../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const Run = z.looseObject({ run_id: z.string() });
const Head = z.object({ checkpoint_id: z.string(), copied_from: z.string() });
const words = async (id: string): Promise<string[]> => (await fixture.messages(id)).map(({ content }) => content);
const branches = async (id: string, query = ""): Promise<Branch[]> =>
  z.array(Branch).parse(await fixture.json("GET", `/threads/${id}/branches${query}`));
const setHead = (id: string, body: object) => fixture.server.send("PUT", `/threads/${id}/head`, body);

/** A thread with three versions of its first message. */
async function threeWays(): Promise<string> {
  const id = await fixture.talk("hello one", "hello two");
  for (const content of ["hello other", "hello third"]) {
    const [first] = await fixture.messages(id);
    fixture.model.push({ text: `re: ${content}` });
    const rerun = await fixture.json("POST", `/threads/${id}/messages/${first?.id}/rerun`, { content });
    await fixture.server.client.runs.join(id, Run.parse(rerun).run_id);
  }
  return id;
}

describe("the branches of a thread", () => {
  it("are one for a thread without forks, and none before its first run", async () => {
    const id = await fixture.talk("hello one");
    const [only, ...others] = await branches(id);
    expect(others).toEqual([]);
    expect(only).toMatchObject({ is_current: true, first_words: "re: hello one", messages: 2, next: false });
    expect(only?.runs).toHaveLength(1);
    const { thread_id } = await fixture.server.client.threads.create();
    expect(await branches(thread_id)).toEqual([]);
  });

  it("are the versions of a message, oldest first, each with its runs; a later message has only its own", async () => {
    const id = await threeWays();
    const [first, answer] = await fixture.messages(id);
    const versions = await branches(id, `?message=${first?.id}`);
    expect(versions.map((one) => [one.first_words, one.role, one.is_current])).toEqual([
      ["hello one", "user", false],
      ["hello other", "user", false],
      ["hello third", "user", true],
    ]);
    expect(versions.map(({ runs }) => runs.length)).toEqual([2, 1, 1]);
    expect(await branches(id, `?message=${answer?.id}`)).toMatchObject([{ first_words: "re: hello third" }]);
    expect(await branches(id)).toHaveLength(3);
    const page = await fixture.server.send("GET", `/threads/${id}/branches?limit=2`);
    expect(page.headers.get("x-pagination-next")).toBe("2");
    expect(await branches(id, "?limit=2&cursor=2")).toHaveLength(1);
  });

  it("can be selected to continue from, without a run, and are kept", async () => {
    const id = await threeWays();
    const asked = fixture.model.requests.length;
    const [one] = await branches(id);
    const current = (await branches(id)).find(({ is_current }) => is_current);
    const answer = await setHead(id, {
      checkpoint_id: one?.checkpoint_id,
      expected_checkpoint_id: current?.checkpoint_id,
    });
    expect(answer.status).toBe(200);
    const { checkpoint_id } = Head.parse(await answer.json());
    expect(await words(id)).toEqual(["hello one", "re: hello one", "hello two", "re: hello two"]);
    expect(fixture.model.requests).toHaveLength(asked);
    const after = await branches(id);
    expect(after).toHaveLength(3);
    expect(after.find(({ is_current }) => is_current)).toMatchObject({ checkpoint_id, messages: 4 });
    await fixture.say(id, "hello again");
    expect((await words(id)).slice(2)).toEqual(["hello two", "re: hello two", "hello again", "re: hello again"]);
    expect(JSON.stringify(fixture.model.requests.at(-1)?.messages)).not.toContain("hello third");
    // And back to a state in the middle of one.
    const history = await fixture.server.client.threads.getHistory(id, { limit: 100 });
    const Two = z.object({ messages: z.tuple([z.looseObject({ content: z.literal("hello one") }), z.unknown()]) });
    const middle = history.find(({ values, next }) => Two.safeParse(values).success && next.length === 0);
    expect((await setHead(id, { checkpoint_id: middle?.checkpoint.checkpoint_id })).status).toBe(200);
    expect(await words(id)).toHaveLength(2);
    expect(await branches(id)).toHaveLength(4);
  });

  it("cannot be selected, with 409, if the thread has changed, is busy or interrupted", async () => {
    const id = await threeWays();
    const [one, two] = await branches(id);
    const before = await words(id);
    const late = await setHead(id, { checkpoint_id: one?.checkpoint_id, expected_checkpoint_id: two?.checkpoint_id });
    expect([late.status, await late.text()]).toEqual([409, expect.stringContaining("newest state")]);
    expect(await words(id)).toEqual(before);
    const graphs = await startTestServer({ drainSeconds: 0 });
    for (const [graph, input] of [
      ["asker", {}],
      ["gated", { gate: crypto.randomUUID() }],
    ] as const) {
      const { thread_id } = await graphs.client.threads.create();
      await graphs.client.runs.wait(thread_id, "counter", { input: { value: 1 } });
      const { checkpoint } = await graphs.client.threads.getState(thread_id);
      await graphs.client.runs.create(thread_id, graph, { input });
      const states = async (): Promise<number> => (await graphs.client.threads.getHistory(thread_id)).length;
      await expect
        .poll(async () => (await graphs.client.threads.get(thread_id)).status)
        .toMatch(graph === "asker" ? "interrupted" : "busy");
      // It has written all its states before the request is sent.
      const at = async (): Promise<string[]> => (await graphs.client.threads.getState(thread_id)).next;
      await expect.poll(at).toEqual([graph === "asker" ? "ask" : "wait"]);
      const had = await states();
      const refused = await graphs.send("PUT", `/threads/${thread_id}/head`, {
        checkpoint_id: checkpoint.checkpoint_id,
      });
      expect(refused.status).toBe(409);
      expect(await states()).toBe(had);
    }
    await graphs.remove();
  });

  it("400 and 404: invalid ids, those of another thread, and of a message without a branch", async () => {
    const id = await fixture.talk("hello one");
    const other = await fixture.talk("hello two");
    const [foreign] = await branches(other);
    expect((await setHead(id, { checkpoint_id: foreign?.checkpoint_id })).status).toBe(404);
    expect((await setHead(id, { checkpoint_id: "x" })).status).toBe(400);
    expect((await setHead(id, {})).status).toBe(400);
    expect((await setHead(crypto.randomUUID(), { checkpoint_id: foreign?.checkpoint_id })).status).toBe(404);
    expect((await fixture.server.send("GET", `/threads/${id}/branches?message=none`)).status).toBe(404);
    expect((await fixture.server.send("GET", `/threads/${id}/branches?limit=0`)).status).toBe(400);
  });
});

describe("the messages of a thread at one of its states", () => {
  const Page = z.object({ messages: z.array(z.looseObject({ content: z.string() })), before: z.string().nullable() });
  const pageAt = async (id: string, query: string) => {
    const page = Page.parse(await fixture.json("GET", `/threads/${id}/messages?${query}`));
    return { said: page.messages.map(({ content }) => content), before: page.before };
  };

  it("are those of that time, in pages, whatever was said or chosen since", async () => {
    const id = await threeWays();
    const [first] = await branches(id);
    const at = `checkpoint_id=${first?.checkpoint_id}`;
    const whole = ["hello one", "re: hello one", "hello two", "re: hello two"];
    expect((await pageAt(id, at)).said).toEqual(whole);
    const last = await pageAt(id, `${at}&limit=3`);
    expect(last.said).toEqual(whole.slice(1));
    expect(await pageAt(id, `${at}&limit=3&before=${last.before}`)).toEqual({ said: ["hello one"], before: null });
    expect((await pageAt(id, "")).said).toEqual(["hello third", "re: hello third"]);
  });

  it("are refused for a state that the thread has not", async () => {
    const id = await fixture.talk("hello one");
    const [other] = await branches(await fixture.talk("hello two"));
    for (const [checkpoint, status] of [
      ["no-such-state", 404],
      [other?.checkpoint_id, 404],
      ["", 400],
    ] as const) {
      const refused = await fixture.ask("GET", `/threads/${id}/messages?checkpoint_id=${checkpoint}`);
      expect(refused[0]).toBe(status);
      if (status === 404) expect(refused[1]).toContain("lists the checkpoints of the thread");
    }
  });
});
