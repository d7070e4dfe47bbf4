import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelOptions } from "@millrace/models/provider";
import { vendorModel } from "../../models/vendors/vendor-model.ts";
import type { ModelStep, WireMessage } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

/** The workflow with a model of a vendor, whose requests come to the scripted server. */
async function start(model: string, options: TestWorkflowOptions, choices: ModelOptions = {}): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  const { services, model: server } = running;
  const made = new Map<string, ReturnType<typeof vendorModel>>();
  // The same client for the same name, as a loader gives it.
  services.loadModel = (name) => {
    if (typeof name !== "string") return name;
    const client = made.get(name) ?? vendorModel(name, server, choices);
    made.set(name, client);
    return client;
  };
  services.defaultModel = model;
  return running;
}

const cut = (text: string, reasoning?: string): ModelStep => ({
  text,
  finishReason: "length",
  ...(reasoning === undefined ? {} : { reasoning }),
});
const free = { mode: "free_work" };
const story =
  "The mill stands at the river. In spring the water is high and the wheel turns day and night; in summer it rests. " +
  "The miller keeps a book of every sack that comes and goes, and at the end of the year he reads it out to the village.";

/** The last message of a request, and where that went. */
function lastOf(flow: TestWorkflow, index: number): WireMessage & { path: string | undefined } {
  const request = flow.model.requests[index];
  return { role: "none", ...request?.messages.at(-1), path: request?.path };
}

const reply = (messages: readonly BaseMessage[]): string | undefined => messages.at(-1)?.text;

describe("the rest of an answer that was cut", () => {
  it.each([true, false])("is begun with what DeepSeek has said and thought, streamed: %s", async (stream) => {
    const script = [cut(story.slice(0, 60), "I tell of a mill."), { text: story.slice(60) }];
    const flow = await start("deepseek:deepseek-reasoner", { stream, script });
    const { messages } = await flow.send("Tell me of the mill", free);
    expect(messages.map((message) => message.getType())).toEqual(["human", "ai"]);
    expect(reply(messages)).toBe(story);
    expect(flow.model.requests[0]?.path).toBe("/v1/chat/completions");
    expect(lastOf(flow, 1)).toEqual({
      role: "assistant",
      content: story.slice(0, 60),
      reasoning_content: "I tell of a mill.",
      prefix: true,
      path: "/beta/chat/completions",
    });
    flow.model.assertFinished();
  });

  it.each<[string, ModelOptions, object]>([
    ["deepseek:deepseek-chat", {}, { prefix: true, path: "/beta/chat/completions" }],
    ["qwen:qwen-max", {}, { partial: true, path: "/compatible-mode/v1/chat/completions" }],
    ["qwen:qwen3-8b", { thinking: false }, { partial: true, path: "/compatible-mode/v1/chat/completions" }],
  ])("is begun with what %s has said (%o)", async (model, options, fields) => {
    const flow = await start(model, { stream: true, script: [cut("One, two, "), { text: "three." }] }, options);
    const { messages } = await flow.send("Count", free);
    expect(reply(messages)).toBe("One, two, three.");
    expect(lastOf(flow, 1)).toEqual({ role: "assistant", content: "One, two, ", ...fields });
  });

  it.each(["openai:gpt-4o", "zhipu:glm-4.7", "siliconflow:Qwen/Qwen3-8B", "qwen:qwen3-8b", "own:qwen3-8b"])(
    "is asked for in words of %s, which cannot be given a beginning, or not while it thinks",
    async (model) => {
      const flow = await start(model, { stream: true, script: [cut("One, two, "), { text: "three." }] });
      const { messages } = await flow.send("Count", free);
      expect(reply(messages)).toBe("One, two, three.");
      const asked = flow.model.requests[1]?.messages.slice(-2) ?? [];
      expect(asked.map(({ role }) => role)).toEqual(["assistant", "user"]);
      expect(asked[0]).not.toHaveProperty("prefix");
      expect(asked[0]).not.toHaveProperty("partial");
    },
  );

  it("is one text where a server sends the beginning back before what is new, wherever it was cut", async () => {
    let pieces: string[] = [];
    const flow = await start("deepseek:deepseek-chat", {
      stream: true,
      handler: () => {
        const text = pieces.shift() ?? "";
        return { text, finishReason: pieces.length > 0 ? "length" : "stop" };
      },
    });
    const cuts = fc.array(fc.tuple(fc.integer({ min: 30, max: 70 }), fc.boolean()), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(cuts, async (parts) => {
        pieces = [];
        let from = 0;
        for (const [length, isSentBack] of parts) {
          pieces.push(story.slice(isSentBack ? 0 : from, from + length));
          from = Math.min(story.length, from + length);
        }
        if (from < story.length) pieces.push(story.slice(from));
        const { messages } = await flow.send("Tell me of the mill", free);
        expect(reply(messages)).toBe(story);
        expect(flow.streamed.get(messages.at(-1)?.id ?? "")).toBe(story);
      }),
      { numRuns: 25 },
    );
  });

  it("keeps a line that the answer itself says twice: the model goes on with the very next character", async () => {
    const line = "- the same line, to the letter\n";
    const flow = await start("deepseek:deepseek-chat", {
      stream: true,
      script: [cut(`A list:\n${line}`), { text: `${line}The end.` }],
    });
    const { messages } = await flow.send("List", free);
    expect(reply(messages)).toBe(`A list:\n${line}${line}The end.`);
  });

  it("is asked for in words where the server refuses a beginning, and then at once", async () => {
    const fault = { kind: "status", status: 400, message: "The last message must be of the user" } as const;
    const script = [cut("One, two, "), { fault }, cut("three, "), { text: "four." }];
    const flow = await start("deepseek:deepseek-chat", { stream: true, script });
    const { messages } = await flow.send("Count", free);
    expect(reply(messages)).toBe("One, two, three, four.");
    expect([1, 2, 3].map((index) => lastOf(flow, index).role)).toEqual(["assistant", "user", "user"]);
    expect(flow.events.filter(({ type }) => type === "agentic_loop.error")).toEqual([]);
    flow.model.assertFinished();
  });

  it("is given up where neither way helps, and what was said stays", async () => {
    const fault = { kind: "status", status: 400, message: "no" } as const;
    const flow = await start("qwen:qwen-max", {
      stream: true,
      script: [cut("So far so good. "), { fault }, { fault }],
    });
    const { messages } = await flow.send("Tell me", free);
    expect(reply(messages)).toBe("So far so good. ");
    expect(flow.events).toContainEqual(expect.objectContaining({ error_type: "output_not_continued" }));
  });
});
