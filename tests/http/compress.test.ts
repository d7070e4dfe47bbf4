import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startSessions, type SessionFixture } from "./session-fixture.ts";

let fixture: SessionFixture;
let id: string;
beforeAll(async () => {
  fixture = await startSessions();
  id = await fixture.talk(...Array.from({ length: 8 }, (_, at) => `hello number ${at}`));
});
afterAll(() => fixture.close());

const Preview = z.looseObject({
  message_count: z.number(),
  usage: z.object({ tokens: z.number(), limit: z.number(), ratio: z.number() }),
  predicted: z.looseObject({ tokens: z.number(), summary_tokens: z.number() }),
  summary: z.looseObject({ goal: z.string() }),
  kept: z.array(z.looseObject({ id: z.string(), preview: z.string() })),
  compressible: z.array(z.looseObject({ id: z.string(), preview: z.string() })),
});
const preview = async (body: object): Promise<z.infer<typeof Preview>> =>
  Preview.parse(await fixture.json("POST", `/threads/${id}/compress/preview`, body));
const values = async (): Promise<unknown> => (await fixture.server.client.threads.getState(id)).values;

describe("POST /threads/:id/compress/preview", () => {
  it("tells what would stay and what would go, and changes nothing", async () => {
    const before = await values();
    const told = await preview({});
    expect(told).toMatchObject({ message_count: 16, usage: { limit: 128_000 }, summary: { goal: "hello number 0" } });
    expect(told.kept).toHaveLength(10);
    expect(told.compressible).toHaveLength(6);
    expect(told.compressible[0]).toMatchObject({ role: "user", preview: "hello number 0" });
    expect(told.predicted.summary_tokens).toBeGreaterThan(0);
    expect(await values()).toEqual(before);
  });

  it("keeps older messages that are named, also by the beginning of their ids", async () => {
    const first = (await preview({ keep_recent: 5 })).compressible[0]?.id ?? "";
    const told = await preview({ keep_recent: 5, keep_message_ids: [first] });
    expect(told.kept[0]?.id).toBe(first);
    expect(told.compressible.map((message) => message.id)).not.toContain(first);
  });

  it.each([
    [{ keep_recent: 4 }, 400],
    [{ keep_recent: 21 }, 400],
    [{ keep_message_ids: ["nothing-like-it"] }, 404],
    [{ keep_recent: 16 }, 409],
  ])("refuses %j", async (body, status) => {
    const response = await fixture.server.send("POST", `/threads/${id}/compress/preview`, body);
    expect(response.status).toBe(status);
  });

  it("says in the reader's language that there is nothing to compress", async () => {
    const response = await fixture.server.send(
      "POST",
      `/threads/${id}/compress/preview`,
      { keep_recent: 20 },
      {
        accept: "application/json",
        "accept-language": "zh",
      },
    );
    expect(await response.json()).toMatchObject({
      errorType: "invalid_state",
      user_message: expect.stringMatching(/\p{Script=Han}/u),
    });
  });
});

describe("POST /threads/:id/compress", () => {
  it("writes the summary by a run, keeps every message, and leaves the view smaller", async () => {
    const told = await preview({ keep_recent: 6 });
    const wanted = told.compressible[1]?.id ?? "";
    const run = z
      .looseObject({ run_id: z.string() })
      .parse(await fixture.json("POST", `/threads/${id}/compress`, { keep_recent: 6, keep_message_ids: [wanted] }));
    await fixture.server.client.runs.join(id, run.run_id);
    const after = z
      .looseObject({
        messages: z.array(z.unknown()),
        conversation_summary: z.looseObject({ shown: z.looseObject({ kept_message_ids: z.array(z.string()) }) }),
      })
      .parse(await values());
    expect(after.messages).toHaveLength(16);
    expect(after.conversation_summary.shown.kept_message_ids).toEqual([wanted]);
    const again = await fixture.server.send("POST", `/threads/${id}/compress`, { keep_recent: 6 });
    expect(again.status).toBe(409);
  });
});
