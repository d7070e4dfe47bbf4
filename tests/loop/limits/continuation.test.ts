import { access } from "node:fs/promises";
import { join } from "node:path";
import { isAIMessage, isToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";
import { wireText, type ModelStep } from "@millrace/testing/model-server";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

const cut = (text: string): ModelStep => ({ text, finishReason: "length" });
const free = { mode: "free_work" };
const story =
  "The mill stands at the river. In spring the water is high and the wheel turns day and night; in summer it rests. " +
  "The miller keeps a book of every sack that comes and goes, and at the end of the year he reads it out to the village.";

describe("an output that is cut at the length limit", () => {
  it.each([true, false])("is one message with the whole text, streamed: %s", async (stream) => {
    const script = [cut(story.slice(0, 60)), cut(story.slice(60, 130)), { text: story.slice(130) }];
    const flow = await start({ stream, script });
    const { messages } = await flow.send("Tell me of the mill", free);
    expect(messages.map((message) => message.getType())).toEqual(["human", "ai"]);
    expect(messages[1]?.text).toBe(story);
    if (stream) expect([...flow.streamed]).toEqual([[messages[1]?.id, story]]);
    expect(flow.events).toContainEqual({ type: "output_continued", round: 2, max_rounds: 5 });
    expect(flow.events).toContainEqual(expect.objectContaining({ type: "agentic_loop.complete", iterations: 1 }));
    flow.model.assertFinished();
  });

  it("is continued from what was said: it stands last, with the request for the rest behind it", async () => {
    const flow = await start({ script: [cut("One, two, "), { text: "three." }] });
    await flow.send("Count", free);
    const asked = flow.model.requests[1]?.messages ?? [];
    expect(asked.slice(-2).map(({ role }) => role)).toEqual(["assistant", "user"]);
    expect(wireText(asked.at(-2) ?? { role: "none" })).toBe("One, two, ");
    expect(wireText(asked.at(-1) ?? { role: "none" })).toContain("cut off");
  });

  it("counts the tokens of all its pieces", async () => {
    const usage = { input: 10, output: 5 };
    const flow = await start({
      script: [
        { ...cut("Half of it, "), usage },
        { text: "and the rest.", usage },
      ],
    });
    const { messages } = await flow.send("Tell me", free);
    const reply = messages.findLast(isAIMessage);
    expect(reply?.usage_metadata).toMatchObject({ input_tokens: 20, output_tokens: 10, total_tokens: 30 });
    expect(reply?.additional_kwargs["llm_metadata"]).toMatchObject({ input_tokens: 20, output_tokens: 10 });
  });

  it("is given up after the number of pieces, and what was said stays", async () => {
    const flow = await start({ handler: (request) => cut(`part ${request.index} `) });
    const { messages } = await flow.send("Tell me", { ...free, limits: { generate_max_rounds: 2 } });
    expect(messages.at(-1)?.text).toBe("part 0 part 1 part 2 ");
    expect(messages.at(-1)?.response_metadata).toMatchObject({ finish_reason: "length" });
    expect(flow.model.requests).toHaveLength(3);
  });

  it("is not asked for again by a model that only repeats itself", async () => {
    const flow = await start({ stream: true, handler: () => cut("The same words once more, to the letter.") });
    const { messages } = await flow.send("Tell me", free);
    expect(messages.at(-1)?.text).toBe("The same words once more, to the letter.");
    expect(flow.model.requests).toHaveLength(2);
  });

  it("keeps what was said when the rest cannot be had, and says why", async () => {
    const fault = { kind: "status", status: 400, message: "no prefix here" } as const;
    const flow = await start({ stream: true, script: [cut("So far so good. "), { fault }] });
    const { messages } = await flow.send("Tell me", free);
    expect(messages.at(-1)?.text).toBe("So far so good. ");
    expect([...flow.streamed.values()]).toEqual(["So far so good. "]);
    expect(flow.events).toContainEqual(
      expect.objectContaining({ type: "agentic_loop.error", error_type: "output_not_continued" }),
    );
  });

  it("gives the text for any split of it, with or without an overlap, streamed or not", async () => {
    let pieces: string[] = [];
    const flow = await start({
      stream: true,
      handler: () => {
        const text = pieces.shift() ?? "";
        return { text, finishReason: pieces.length > 0 ? "length" : "stop" };
      },
    });
    const cuts = fc.array(fc.tuple(fc.integer({ min: 30, max: 70 }), fc.constantFrom(0, 16, 25)), {
      minLength: 1,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(cuts, async (parts) => {
        pieces = [];
        let from = 0;
        for (const [length, overlap] of parts) {
          pieces.push(story.slice(Math.max(0, from - overlap), from + length));
          from += length;
          if (from >= story.length) break;
        }
        if (from < story.length) pieces.push(story.slice(from));
        pieces = pieces.slice(0, 6);
        const { messages } = await flow.send("Tell me of the mill", free);
        const reply = messages.at(-1);
        expect(reply?.text).toBe(story);
        expect(flow.streamed.get(reply?.id ?? "")).toBe(story);
      }),
      { numRuns: 25 },
    );
  });
});

describe("a tool call that is cut at the length limit", () => {
  const half: ModelStep = {
    toolCalls: [
      { name: "create_file", arguments: { path: "whole.txt", content: "all of it" } },
      { name: "create_file", arguments: '{"path": "half.txt", "content": "the first ha' },
    ],
    finishReason: "length",
  };
  const exists = (flow: TestWorkflow, path: string): Promise<boolean> =>
    access(join(flow.workspace, path)).then(
      () => true,
      () => false,
    );

  it.each([true, false])(
    "is never run, and the model gets the reason; the whole ones are run, streamed: %s",
    async (stream) => {
      const flow = await start({ stream, script: [half, { text: "One file is written, the other was too long." }] });
      const { messages } = await flow.send("Write two files", free);
      expect(await exists(flow, "whole.txt")).toBe(true);
      expect(await exists(flow, "half.txt")).toBe(false);
      const results = messages.filter(isToolMessage);
      expect(results.map(({ additional_kwargs }) => additional_kwargs["code"])).toEqual(["OK", "CUT_OFF"]);
      expect(results[1]?.text).toContain("length limit");
    },
  );

  it("is not run either when it broke off before any argument", async () => {
    const script: ModelStep[] = [
      { toolCalls: [{ name: "list_files", arguments: "" }], finishReason: "length" },
      { text: "I could not look." },
    ];
    const flow = await start({ stream: true, script });
    const { messages } = await flow.send("Look around", free);
    expect(messages.find(isToolMessage)?.additional_kwargs["code"]).toBe("CUT_OFF");
  });

  it("is not taken for a whole one when only its text breaks off, without a word about the length", async () => {
    const broken = { name: "create_file", arguments: '{"path": "half.txt", "content": "the first ha' };
    const flow = await start({ stream: true, script: [{ toolCalls: [broken] }, { text: "I could not." }] });
    const { messages } = await flow.send("Write the file", free);
    expect(await exists(flow, "half.txt")).toBe(false);
    expect(messages.find(isToolMessage)?.status).toBe("error");
  });
});

describe("an empty reply", () => {
  it.each([{ text: "" }, { reasoning: "I think about it." }, { text: "  \n" }])("%j is asked again", async (empty) => {
    const flow = await start({ script: [empty, { text: "Here I am." }] });
    const { messages } = await flow.send("Are you there?", free);
    expect(messages.map((message) => message.getType())).toEqual(["human", "ai"]);
    expect(messages.at(-1)?.text).toBe("Here I am.");
    expect(flow.events).toContainEqual({ type: "forced_continuation", kind: "empty_reply", count: 1 });
    expect(wireText(flow.model.requests[1]?.messages.at(-1) ?? { role: "none" })).toContain("empty");
  });

  it("is asked again at most five times, and the turn ends with a true sentence", async () => {
    const flow = await start({ files: { a: "1" }, handler: () => ({ text: "" }) });
    const { messages } = await flow.send("Are you there?", free);
    expect(flow.model.requests).toHaveLength(6);
    expect(messages.at(-1)?.text).toContain("stopped here");
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("guardrail");
  });
});
