import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { ChatSummaries } from "../../../src/sessions/overview/summaries.ts";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
let id: string;
beforeAll(async () => {
  fixture = await startSessions();
  id = await fixture.talk(...Array.from({ length: 12 }, (_, at) => `hello number ${at}`));
});
afterAll(() => fixture.close());

const read = async (thread = id): Promise<z.infer<typeof ChatSummaries>> =>
  ChatSummaries.parse(await fixture.json("GET", `/threads/${thread}/summaries`));

describe("GET /threads/:id/summaries", () => {
  it("has one after every ten messages, each based on the one before, without a model call", async () => {
    const asked = fixture.model.requests.length;
    const { current, summaries } = await read();
    expect(summaries.map(({ chatId, messages }) => [chatId, messages])).toEqual([
      [id, 10],
      [id, 20],
    ]);
    const [first, second] = summaries;
    expect(first?.summary).toMatchObject({ goal: "hello number 0", current_problem: "hello number 4" });
    expect(second?.summary).toMatchObject({ goal: "hello number 0", current_problem: "hello number 9" });
    expect(second?.summary.completed).toContain("re: hello number 0");
    expect(second?.summary.completed).toContain("re: hello number 9");
    expect(Date.parse(first?.createdAt ?? "")).toBeLessThanOrEqual(Date.parse(second?.createdAt ?? ""));
    expect(current).toEqual(second?.summary);
    expect(await read()).toEqual({ current, summaries });
    expect(fixture.model.requests).toHaveLength(asked);
  });

  it("has the one of the last compression as the current one", async () => {
    fixture.model.push({ text: '{"goal": "greet", "completed": ["said hello"]}' });
    const { run_id } = z
      .looseObject({ run_id: z.string() })
      .parse(await fixture.json("POST", `/threads/${id}/compress`, { keep_recent: 5 }));
    await fixture.server.client.runs.join(id, run_id);
    const { current, summaries } = await read();
    expect(current).toMatchObject({ goal: "greet", completed: ["said hello"] });
    expect(summaries).toHaveLength(2);
  });

  it("is empty for a short conversation, and 404 for an unknown thread", async () => {
    expect(await read(await fixture.talk("hello"))).toEqual({ current: null, summaries: [] });
    expect((await fixture.ask("GET", `/threads/${crypto.randomUUID()}/summaries`))[0]).toBe(404);
  });
});
