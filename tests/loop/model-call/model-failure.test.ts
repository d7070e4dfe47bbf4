import { isAIMessage, isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import { userSentence } from "@millrace/engine/errors/error-texts";
import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

const free = { mode: "free_work", limits: { agentic_connection_retries: 0 } };
const ask = { ...free, on_error: "ask" };
const status = (code: number, message = "refused"): ModelStep => ({ fault: { kind: "status", status: code, message } });
const reads: ModelStep = { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] };
const files = { "a.txt": "content of a" };
const modelOf = ({ body }: ModelRequest): string => body.model;
const textsOf = ({ messages }: ModelRequest): string[] => messages.map(wireText);
const degraded = ({ events }: TestWorkflow): unknown[] =>
  events.flatMap((event) => (event.type === "degraded" ? [[event.plan, event.error_type]] : []));

function expectValid(messages: BaseMessage[]): void {
  expect(repairToolPairs(messages)).toBe(messages);
  const ids = messages.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
}

async function theQuestion(flow: TestWorkflow): Promise<unknown> {
  const waiting = await flow.interrupts();
  expect(waiting).toHaveLength(1);
  return waiting[0]?.value;
}

describe("a model call that fails, asked in another way", () => {
  it("takes the other model that the run names, and stays with it", async () => {
    const flow = await start({
      files,
      handler: (request) =>
        modelOf(request) === "scripted" ? status(503) : request.index < 2 ? reads : { text: "Read by the other." },
    });
    const { messages } = await flow.send("Read a.txt", { ...free, fallback_model: "openai:other" });
    expect(messages.at(-1)?.text).toBe("Read by the other.");
    expect(flow.model.requests.map(modelOf)).toEqual(["scripted", "other", "other"]);
    expect(degraded(flow)).toEqual([["other_model", "server"]]);
    const replies = messages.filter(isAIMessage).map(({ additional_kwargs }) => additional_kwargs["llm_metadata"]);
    expect(replies).toEqual([
      expect.objectContaining({ model_name: "openai:other" }),
      expect.objectContaining({ model_name: "openai:other" }),
    ]);
    expectValid(messages);
  });

  it("shows less of a conversation that is too long, then a summary of it, and never changes the history", async () => {
    const long = status(400, "This model's maximum context length is 100 tokens");
    const flow = await start({
      files,
      handler: ({ index }) =>
        index < 8 ? { text: `Answer ${index} is here.` } : index < 10 ? long : { text: "Short." },
    });
    for (let turn = 0; turn < 8; turn += 1) await flow.send(`Question ${turn}`, free);
    const { messages } = await flow.send("The last question", free);
    expect(messages.at(-1)?.text).toBe("Short.");
    expect(messages.filter(isHumanMessage)).toHaveLength(9);
    expect(degraded(flow)).toEqual([
      ["shorter_context", "context_overflow"],
      ["summary", "context_overflow"],
    ]);
    const [whole, shorter, summed] = flow.model.requests.slice(8).map(textsOf);
    expect(whole).toHaveLength(18);
    expect(shorter).toHaveLength(11);
    expect(shorter?.at(-1)).toBe("The last question");
    expect(summed).toHaveLength(7);
    expect(summed?.at(-2)).toBe("The last question");
    expect(summed?.at(-1)).toMatch(/earlier messages are left out.*Question 0/su);
    // The system text is the same through all of it (LOOP-05).
    expect(new Set([whole?.[0], shorter?.[0], summed?.[0]]).size).toBe(1);
  });

  it("learns what the model cannot read, and shows it no more than that in the next turn", async () => {
    const flow = await start({
      handler: ({ messages }) =>
        messages.map(wireText).join("").length > 20_000
          ? status(400, "This model's maximum context length is 4500 tokens")
          : { text: "word ".repeat(200) },
    });
    const sizes = (): number[] => flow.model.requests.map((request) => textsOf(request).join("").length);
    for (let turn = 0; turn < 12; turn += 1) await flow.send(`Question ${turn} ${"w ".repeat(500)}`, free);
    const failed = sizes().findIndex((size) => size > 20_000);
    expect(failed).toBeGreaterThan(0);
    expect(
      sizes()
        .slice(failed + 1)
        .filter((size) => size > 20_000),
    ).toEqual([]);
    expect(degraded(flow)).toEqual([["shorter_context", "context_overflow"]]);
  });

  it("gives advice when a conversation stays too long", async () => {
    const long = status(400, "Token超限");
    const flow = await start({ handler: ({ index }) => (index === 0 ? { text: "Hello there." } : long) });
    await flow.send("Question", free);
    await expect(flow.send("Another one", free)).rejects.toMatchObject({
      code: "context_overflow",
      suggestion: expect.stringMatching(/Start a new conversation, refer to less/u),
    });
    expect(flow.model.requests).toHaveLength(4);
  });

  it("continues without tools if the model cannot use them, and asks it to describe manual steps", async () => {
    const flow = await start({
      files,
      handler: ({ toolNames }) =>
        toolNames.length > 0 ? status(400, "scripted does not support tools") : { text: "Open a.txt by hand." },
    });
    const { messages } = await flow.send("Read a.txt", free);
    expect(messages.at(-1)?.text).toBe("Open a.txt by hand.");
    expect(degraded(flow)).toEqual([["without_tools", "unavailable_tool_mode"]]);
    expect(textsOf(flow.model.requests[1] as ModelRequest).at(-1)).toMatch(/no tools can be used.*by hand/u);
  });

  it("does not leave out the tool that the user has chosen", async () => {
    const flow = await start({ files, script: [status(400, "scripted does not support tools")] });
    const sent = flow.send("Read a.txt", { selected_tool: "read_file" });
    await expect(sent).rejects.toMatchObject({ code: "unavailable_tool_mode" });
    flow.model.assertFinished();
  });

  it("repeats nothing unasked once the answer had begun", async () => {
    const flow = await start({ stream: true, script: [{ text: "one two three", fault: { kind: "cut", after: 2 } }] });
    const sent = flow.send("Count", { ...free, fallback_model: "openai:other" });
    await expect(sent).rejects.toMatchObject({ code: "network" });
    flow.model.assertFinished();
  });

  it("passes a brief fault over without a word but the retry event", async () => {
    const flow = await start({ script: [{ fault: { kind: "reset" } }, { text: "There again." }] });
    const { messages } = await flow.send("Hello you", { mode: "free_work" });
    expect(messages.at(-1)?.text).toBe("There again.");
    expect(flow.events.filter(({ type }) => type === "retry")).toHaveLength(1);
    expect(flow.events.filter(({ type }) => ["degraded", "agentic_loop.error"].includes(type))).toEqual([]);
  });
});

describe("a model call that fails for good, put to a person", () => {
  it("waits with the question, and tries again with what the user wrote", async () => {
    const flow = await start({ script: [status(401), status(401), { text: "Now it works." }] });
    await flow.send("My exact words", ask);
    expect(await theQuestion(flow)).toEqual({
      kind: "error_decision",
      question: expect.stringMatching(/key.*Retry.*Skip.*Cancel/u),
      error: "auth",
      details: expect.stringContaining("refused the key (401)"),
      suggestions: [expect.any(String), "Check the key in OPENAI_API_KEY."],
      options: ["Retry", "Skip", "Cancel"],
    });
    await flow.answer("Retry", ask);
    expect(await theQuestion(flow)).toMatchObject({ kind: "error_decision" });
    const { messages } = await flow.answer({ type: "answer", value: "Retry" }, ask);
    expect(messages.map(({ text }) => text)).toEqual(["My exact words", "Now it works."]);
    expect(flow.model.requests.map((request) => textsOf(request).at(-1))).toEqual(Array(3).fill("My exact words"));
    expect(flow.events.filter(({ type }) => type === "agentic_loop.complete")).toHaveLength(1);
    flow.model.assertFinished();
  });

  it("repeats no tool call when it tries again", async () => {
    const create: ModelStep = { toolCalls: [{ name: "create_file", arguments: { path: "b.txt", content: "b" } }] };
    const flow = await start({ script: [create, status(401), { text: "Created." }] });
    await flow.send("Create b.txt", ask);
    const { messages } = await flow.answer("Retry", ask);
    expect(messages.at(-1)?.text).toBe("Created.");
    expect(flow.events.filter(({ type }) => type === "agentic_loop.tool_result")).toHaveLength(1);
    expectValid(messages);
  });

  it("takes another way when asked to, and says that there is none left", async () => {
    const flow = await start({ files, script: [status(422, "no"), status(422, "no"), { text: "Without tools." }] });
    await flow.send("Read a.txt", ask);
    expect(await theQuestion(flow)).toMatchObject({
      error: "api_error",
      options: ["Retry", "TryAlternative", "Skip", "Cancel"],
    });
    await flow.answer("Retry", ask);
    const { messages } = await flow.answer({ type: "respond", text: "换一种方式" });
    expect(messages.at(-1)?.text).toBe("Without tools.");
    expect(degraded(flow)).toEqual([["without_tools", "api_error"]]);
    expect(flow.model.requests.map(({ toolNames }) => toolNames.length > 0)).toEqual([true, true, false]);
  });

  it.each([
    ["Skip", "error", userSentence("auth", "en")],
    ["Cancel", "cancelled", "I was stopped."],
    [{ type: "reject" }, "cancelled", "I was stopped."],
  ])("ends the turn in a valid state on %j", async (answer, reason, says) => {
    const flow = await start({ files, script: [reads, status(401)] });
    await flow.send("Read a.txt", ask);
    const { messages } = await flow.answer(answer);
    const last = messages.at(-1);
    expect(last?.text).toContain(says);
    expect(last?.text).toContain("read_file");
    expect(last?.text).not.toContain("401");
    expect(last?.additional_kwargs["end_reason"]).toBe(reason);
    expect(await flow.interrupts()).toEqual([]);
    expectValid(messages);
  });

  it("ends with a message also where nothing had been done", async () => {
    const flow = await start({ script: [status(401), { text: "Here again." }] });
    await flow.send("你好，请帮我看看这个", ask);
    const { messages } = await flow.answer("Skip");
    expect(messages.at(-1)?.text).toContain(userSentence("auth", "zh"));
    const next = await flow.send("Hello again", free);
    expect(next.messages.at(-1)?.text).toBe("Here again.");
  });

  it("asks again when the answer cannot be used", async () => {
    const flow = await start({ script: [status(401), { text: "Done." }] });
    await flow.send("Hello", ask);
    await flow.answer("whatever you like");
    expect(await theQuestion(flow)).toMatchObject({ problem: expect.stringContaining('"Retry"') });
    await flow.answer({ option: "TryAlternative" });
    expect(await theQuestion(flow)).toMatchObject({ problem: expect.stringContaining("no other way") });
    expect((await flow.answer("retry")).messages.at(-1)?.text).toBe("Done.");
  });

  it("asks about a call whose answer is for the program, too, and a stop there ends the run", async () => {
    const flow = await start({ script: [status(401), status(401)] });
    await flow.send("write a report", { on_error: "ask" });
    expect(await theQuestion(flow)).toMatchObject({ error: "auth" });
    await expect(flow.answer("Cancel")).rejects.toMatchObject({ code: "cancelled" });
  });

  it("throws the error without asking if the run does not want questions, and keeps the message", async () => {
    const flow = await start({ script: [status(401)] });
    await expect(flow.send("Hello", free)).rejects.toMatchObject({ code: "auth" });
    expect((await flow.state()).messages.map(({ text }) => text)).toEqual(["Hello"]);
  });

  it("ends with what was done where work was done, in words for users", async () => {
    const flow = await start({ files, script: [reads, status(401, "key sk-abcdefgh")] });
    const { messages } = await flow.send("Read a.txt", free);
    expect(messages.at(-1)?.text).toContain(userSentence("auth", "en"));
    expect(messages.at(-1)?.text).not.toMatch(/401|sk-/u);
    expectValid(messages);
  });
});

describe("a failed call whose answer is for the program", () => {
  it("is passed over with one word: the question is then put in fixed words", async () => {
    const flow = await start({ script: [status(401)] });
    await flow.send("write a report", { on_error: "ask" });
    await flow.answer("Skip", { on_error: "ask" });
    expect((await flow.interrupts())[0]?.value).toMatchObject({
      kind: "clarify",
      questions: ["Which subject, or which file, is it about?"],
    });
    flow.model.assertFinished();
  });

  it("ends the turn when a person says so, also where the program could do without it", async () => {
    const flow = await start({
      handler: ({ index }) => (index < 4 ? { text: `Answer ${index} is here.` } : status(401)),
    });
    for (let turn = 0; turn < 4; turn += 1) await flow.send(`Question ${turn}`, free);
    await flow.send("The last question", { ...ask, compress: true });
    expect(await theQuestion(flow)).toMatchObject({ error: "auth" });
    await expect(flow.answer("Cancel", { ...ask, compress: true })).rejects.toMatchObject({ code: "cancelled" });
    expect(flow.model.requests).toHaveLength(5);
  });
});
