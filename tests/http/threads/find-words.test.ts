import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const Found = z.object({
  hits: z.array(
    z.object({ message_id: z.string(), role: z.string(), before: z.string(), match: z.string(), after: z.string() }),
  ),
  total: z.number(),
  before: z.string().nullable(),
});
const find = async (id: string, search: string): Promise<z.infer<typeof Found>> =>
  Found.parse(await fixture.json("GET", `/threads/${id}/search?${search}`));

it("a search finds a text in a thread's messages, in any case, oldest first, with the text around it", async () => {
  const id = await fixture.talk("the Heron stood", "and flew", "so did the other HERON");
  await fixture.talk("a heron of another thread");
  const messages = await fixture.messages(id);
  const { hits, total, before } = await find(id, "query=heron");
  expect([total, before]).toEqual([4, null]);
  expect(hits.map(({ message_id }) => message_id)).toEqual([0, 1, 4, 5].map((at) => messages[at]?.id));
  expect(hits[0]).toEqual({
    message_id: messages[0]?.id,
    role: "user",
    before: "the ",
    match: "Heron",
    after: " stood",
  });
  expect(hits[3]).toMatchObject({ role: "assistant", before: "re: so did the other ", match: "HERON" });
  expect(await find(id, "query=egret")).toEqual({ hits: [], total: 0, before: null });
});

it("a search continues before the last results, and skips hidden messages", async () => {
  const id = await fixture.talk("a wren", "two wrens");
  await fixture.json("POST", `/threads/${id}/messages`, { messages: [{ role: "system", content: "no wren" }] });
  const messages = await fixture.messages(id);
  const newest = await find(id, "query=wren&limit=3");
  expect([newest.hits.length, newest.total, newest.before]).toEqual([3, 4, messages[1]?.id]);
  const older = await find(id, `query=wren&limit=3&before=${newest.before}`);
  expect([older.hits.map(({ message_id }) => message_id), older.before]).toEqual([[messages[0]?.id], null]);
});

it("a search without text is refused, and one in an unknown thread is 404", async () => {
  const id = await fixture.talk("hello");
  for (const search of ["", "?query=", "?query=%20", `?query=${"x".repeat(501)}`, "?query=a&limit=0"]) {
    expect((await fixture.ask("GET", `/threads/${id}/search${search}`))[0], search).toBe(400);
  }
  expect((await fixture.ask("GET", `/threads/${crypto.randomUUID()}/search?query=a`))[0]).toBe(404);
});
