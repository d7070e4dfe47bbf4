import { afterEach, describe, expect, it } from "vitest";
import { plainClarification } from "../../src/nodes/intent/clarification.ts";
import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../support/workflow.ts";
import { clarify } from "../../src/prompts/templates/clarify.ts";
import { hasPrompt } from "../support/system-text.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

const isClarify = (request: ModelRequest): boolean =>
  request.messages.some((message) => hasPrompt(wireText(message), clarify));
const texts = (request: ModelRequest | undefined): string[] => (request?.messages ?? []).map(wireText);

const guessed = {
  guess: "I take it that you want a short report on mills.",
  defaults: ["Length: one page"],
  questions: ["Which mill?", "For whom?", "How long?"],
  suggestions: ["Water mills", "Windmills"],
};

/** Guesses once; whatever is asked then is answered with "Here it is." */
const guessing =
  (guess: unknown = guessed) =>
  (request: ModelRequest): ModelStep => ({
    text: isClarify(request) ? JSON.stringify(guess) : "Here it is.",
  });

describe("an unclear request", () => {
  it("is guessed at first, then asked about with at most two questions and with suggestions", async () => {
    const flow = await start({ handler: guessing() });
    const state = await flow.send("write a report");
    const [pending] = await flow.interrupts();
    expect(pending?.value).toMatchObject({
      kind: "clarify",
      guess: guessed.guess,
      defaults: ["Length: one page"],
      questions: ["Which mill?", "For whom?"],
      suggestions: ["Water mills", "Windmills"],
    });
    expect(state.messages.at(-1)?.text).toBe(`${guessed.guess}\nLength: one page\nWhich mill?\nFor whom?`);
    expect(state.messages.at(-1)?.additional_kwargs).toMatchObject({ suggestions: ["Water mills", "Windmills"] });
    expect(flow.events.filter(({ type }) => type === "intent")).toMatchObject([{ route: "clarify", kind: "unclear" }]);
  });

  it("goes on with the answer, read together with the request, and is not guessed at again", async () => {
    const flow = await start({ handler: guessing() });
    await flow.send("write a report");
    const state = await flow.answer({ type: "answer", text: "Water mills, for children" });
    expect(flow.model.requests.filter((request) => isClarify(request))).toHaveLength(1);
    expect(state.messages.map((message) => [message.getType(), message.text.split("\n")[0]])).toEqual([
      ["human", "write a report"],
      ["ai", guessed.guess],
      ["human", "Water mills, for children"],
      ["ai", "Here it is."],
    ]);
    expect(state.clarification).toBeNull();
    expect(texts(flow.model.requests.at(-1))).toContain("Water mills, for children");
    expect(await flow.interrupts()).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ["plain words", "Windmills", "Windmills"],
    ["LangChain's spelling", { decisions: [{ type: "respond", message: "Windmills" }] }, "Windmills"],
    ["a yes to the guess", { type: "approve" }, "Go on with what you assume."],
    ["a no that says what instead", { type: "reject", message: "No, a poem" }, "No, a poem"],
  ])("takes %s for an answer", async (_name, answer, expected) => {
    const flow = await start({ handler: guessing() });
    await flow.send("write a report");
    const state = await flow.answer(answer);
    expect(state.messages.at(-2)?.text).toBe(expected);
    expect(state.messages.at(-1)?.text).toBe("Here it is.");
    expect(flow.model.requests.at(-1)?.toolNames.length).toBeGreaterThan(0);
  });

  it("ends with a plain no, and calls no model for it", async () => {
    const flow = await start({ handler: guessing() });
    await flow.send("写一份报告");
    const before = flow.model.requests.length;
    const state = await flow.answer({ type: "reject" });
    expect(state.messages.at(-1)?.text).toBe("好的，那就先不做了。");
    expect(flow.model.requests).toHaveLength(before);
    expect(state.orchestration.state).toBe("respond");
  });

  it("is asked about again when the answer cannot be used, saying why", async () => {
    const flow = await start({ handler: guessing() });
    await flow.send("write a report");
    await flow.answer({ type: "sideways" });
    const [pending] = await flow.interrupts();
    expect(pending?.value).toMatchObject({ kind: "clarify", problem: expect.stringContaining("answer") });
    const state = await flow.answer("Windmills");
    expect(state.messages.at(-1)?.text).toBe("Here it is.");
    expect(flow.model.requests.filter((request) => isClarify(request))).toHaveLength(1);
  });

  it("may be answered by an ordinary message too", async () => {
    const flow = await start({ handler: guessing() });
    await flow.send("write a report");
    const state = await flow.send("OK");
    expect(state.messages.at(-1)?.text).toBe("Here it is.");
    expect(state.route).toBe("free_work");
    expect(await flow.interrupts()).toEqual([]);
  });

  it("may be dropped by an ordinary message", async () => {
    const flow = await start({ handler: guessing() });
    await flow.send("write a report");
    expect((await flow.send("never mind")).route).toBe("reply");
  });

  it.each([["no JSON at all"], [{ guess: "Something", questions: ["Please provide more details."] }]])(
    "never gets a bare question for more: %j",
    async (guess) => {
      const flow = await start({ handler: guessing(guess) });
      await flow.send("帮我做个研究");
      const [pending] = await flow.interrupts();
      expect(pending?.value).toMatchObject({ questions: plainClarification("帮我做个研究").questions });
    },
  );

  it.each([[{ clarify: false }], [{ mode: "free_work" }], [{ chat_mode: "chat" }]])(
    "is not asked about when the run says %j",
    async (context) => {
      const flow = await start({ handler: guessing() });
      const state = await flow.send("write a report", context);
      expect(await flow.interrupts()).toEqual([]);
      expect(state.messages.at(-1)?.text).toBe("Here it is.");
    },
  );

  it("is clear when something was said before", async () => {
    const flow = await start({ handler: guessing() });
    await flow.send("Tell me something about water mills");
    await flow.send("write a report");
    expect(await flow.interrupts()).toEqual([]);
  });

  it("is asked about without a key and a network too", async () => {
    const flow = await start({ offline: true });
    await flow.send("do something");
    const [pending] = await flow.interrupts();
    expect(pending?.value).toMatchObject({
      kind: "clarify",
      questions: ["Which subject, or which file, is it about?"],
    });
  });
});
