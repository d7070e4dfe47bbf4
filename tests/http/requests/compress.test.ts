import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { ContextMessages } from "../../../src/sessions/overview/context-messages.ts";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";
import { compress } from "../../../src/prompts/templates/compress.ts";
import { hasPrompt } from "../../support/system-text.ts";

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
  predicted: z.object({ tokens: z.number(), limit: z.number(), ratio: z.number(), summary_tokens: z.number() }),
  summary: z.looseObject({ goal: z.string() }),
  kept: z.array(z.looseObject({ id: z.string(), preview: z.string() })),
  compressible: z.array(z.looseObject({ id: z.string(), preview: z.string() })),
});
const preview = async (body: object): Promise<z.infer<typeof Preview>> =>
  Preview.parse(await fixture.json("POST", `/threads/${id}/compress/preview`, body));
const values = async (): Promise<unknown> => (await fixture.server.client.threads.getState(id)).values;

describe("POST /threads/:id/compress/preview", () => {
  it("returns which messages would be kept and compressed, and changes nothing", async () => {
    const before = await values();
    const previewed = await preview({});
    expect(previewed).toMatchObject({
      message_count: 16,
      usage: { limit: 128_000 },
      summary: { goal: "hello number 0" },
    });
    expect(previewed.kept).toHaveLength(10);
    expect(previewed.compressible).toHaveLength(6);
    expect(previewed.compressible[0]).toMatchObject({ role: "user", preview: "hello number 0" });
    expect(previewed.predicted.summary_tokens).toBeGreaterThan(0);
    expect(await values()).toEqual(before);
  });

  it("keeps the given older messages, also by a prefix of their ids", async () => {
    const first = (await preview({ keep_recent: 5 })).compressible[0]?.id ?? "";
    const previewed = await preview({ keep_recent: 5, keep_message_ids: [first] });
    expect(previewed.kept[0]?.id).toBe(first);
    expect(previewed.compressible.map((message) => message.id)).not.toContain(first);
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

  it("answers in the reader's language that there is nothing to compress", async () => {
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
  it("writes the summary in a run, keeps every message, and makes the next request smaller", async () => {
    const previewed = await preview({ keep_recent: 6 });
    const wanted = previewed.compressible[1]?.id ?? "";
    const { predicted } = await preview({ keep_recent: 6, keep_message_ids: [wanted] });
    // The rules of the preview then write it, at once; a request without a script would be retried.
    fixture.model.push({ fault: { kind: "status", status: 401 } });
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
    // The compression does what the preview showed (COMP-11).
    expect(await fixture.json("GET", `/threads/${id}/status`)).toMatchObject({ usage_ratio: predicted.ratio });
    expect(predicted.ratio).toBe(predicted.tokens / predicted.limit);
    const again = await fixture.server.send("POST", `/threads/${id}/compress`, { keep_recent: 6 });
    expect(again.status).toBe(409);

    // The next request contains each message as the answer says, and as its user has set it.
    const hidden = previewed.kept[1]?.id ?? "";
    await fixture.json("PATCH", `/threads/${id}/messages/${hidden}`, { model_view: "hide" });
    await fixture.say(id, "hello at last");
    const seen = ContextMessages.parse(await fixture.json("GET", `/threads/${id}/context/messages`));
    expect(seen).toMatchObject({ total: 18, before: null });
    const summary = Array.from({ length: 10 }, (_, at) => (at === 1 ? "whole" : "summary"));
    const rest = ["whole", "hidden", "whole", "whole", "whole", "whole", "whole", "later"];
    expect(seen.messages.map(({ in_request }) => in_request)).toEqual([...summary, ...rest]);
    expect(seen.messages[11]).toMatchObject({ id: hidden, model_view: "hide", importance: "LOW" });
    expect(seen.messages[11]?.tokens).toBeGreaterThan(0);
    const page = await fixture.json("GET", `/threads/${id}/context/messages?limit=2&before=${hidden}`);
    expect(page).toMatchObject({ messages: seen.messages.slice(9, 11), before: seen.messages[9]?.id });
  });
});

describe("an imported conversation", () => {
  it("is compressed before its first turn, if its graph has a summary", async () => {
    const messages = Array.from({ length: 16 }, (_, at) => ({
      type: at % 2 === 0 ? "human" : "ai",
      id: `far-${at}`,
      content: `words ${at}`,
    }));
    const body = { format: "millrace.session", version: 1, session_name: "far", graph_id: "agent", messages };
    const { thread_id: thread } = z
      .looseObject({ thread_id: z.string() })
      .parse(await fixture.json("POST", "/threads/import", body));
    const previewed = Preview.parse(await fixture.json("POST", `/threads/${thread}/compress/preview`, {}));
    expect(previewed).toMatchObject({ message_count: 16, summary: { goal: "words 0" } });
    fixture.model.push({ fault: { kind: "status", status: 401 } });
    const run = z
      .looseObject({ run_id: z.string() })
      .parse(await fixture.json("POST", `/threads/${thread}/compress`, {}));
    await fixture.server.client.runs.join(thread, run.run_id);
    const { values: after } = await fixture.server.client.threads.getState(thread);
    expect(after).toMatchObject({ conversation_summary: { goal: "words 0" } });
  });
});

describe("deleting the last message that a summary covers", () => {
  it("leaves the messages of the summary out of the next request", async () => {
    const other = await fixture.talk(...Array.from({ length: 6 }, (_, at) => `hello once more ${at}`));
    fixture.model.push({ fault: { kind: "status", status: 401 } });
    const { run_id } = z
      .looseObject({ run_id: z.string() })
      .parse(await fixture.json("POST", `/threads/${other}/compress`, { keep_recent: 6 }));
    await fixture.server.client.runs.join(other, run_id);
    const { values: state } = await fixture.server.client.threads.getState(other);
    const { conversation_summary: summary } = z
      .looseObject({ conversation_summary: z.looseObject({ through_message_id: z.string() }) })
      .parse(state);
    await fixture.json("DELETE", `/threads/${other}/messages/${summary.through_message_id}`);
    await fixture.say(other, "hello at last");
    const seen = ContextMessages.parse(await fixture.json("GET", `/threads/${other}/context/messages`));
    const rest = ["whole", "whole", "whole", "whole", "whole", "whole", "whole", "later"];
    expect(seen.messages.map(({ in_request }) => in_request)).toEqual([
      ...Array.from({ length: 5 }, () => "summary"),
      ...rest,
    ]);
  });
});

describe("a run with compress in its context", () => {
  it.each([[{ compress: true }], [{ compress: { keep_recent: 5 } }]])(
    "is refused without an input, which would ignore %j",
    async (context) => {
      for (const input of [{ input: null }, {}]) {
        const body = { assistant_id: "agent", ...input, context };
        const [status, text] = await fixture.ask("POST", `/threads/${id}/runs/wait`, body);
        expect(status).toBe(400);
        expect(text).toMatch(/without input.*compresses nothing/u);
      }
    },
  );

  it("is accepted without input if compress is false", async () => {
    const body = { assistant_id: "agent", input: null, context: { compress: false } };
    expect((await fixture.ask("POST", `/threads/${id}/runs/wait`, body))[0]).toBe(200);
  });
});

describe("a compression whose model is slow", () => {
  it("blocks no other request of the thread: those that need an idle thread get 409 at once", async () => {
    const other = await fixture.talk(...Array.from({ length: 6 }, (_, at) => `hello again ${at}`));
    fixture.model.push({ fault: { kind: "hang" } });
    const { run_id } = z
      .looseObject({ run_id: z.string() })
      .parse(await fixture.json("POST", `/threads/${other}/compress`, { keep_recent: 5 }));
    const asks = (): boolean => hasPrompt(JSON.stringify(fixture.model.requests.at(-1)?.messages), compress);
    await expect.poll(asks).toBe(true);
    const added = { messages: [{ role: "user", content: "And this" }] };
    const [status, text] = await fixture.ask("POST", `/threads/${other}/messages`, added);
    // A request that waited for the thread's lease would time out after ten seconds.
    expect([status, text]).toEqual([409, expect.not.stringContaining("has not ended within")]);
    expect((await fixture.ask("POST", `/threads/${other}/runs`, { assistant_id: "agent", input: added }))[0]).toBe(422);
    expect((await fixture.ask("GET", `/threads/${other}/state`))[0]).toBe(200);
    await fixture.server.client.runs.cancel(other, run_id, true);
  });
});
