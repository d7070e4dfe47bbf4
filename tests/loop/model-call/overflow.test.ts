import { AIMessage, HumanMessage, isToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { countMessages, countText } from "../../../src/context/tokens/tokens.ts";
import { builtInProfiles } from "@millrace/models/registry/profiles";
import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";
import { strictProblems } from "./strict-provider.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

const free = { mode: "free_work", tools: ["read_file"] };
const reads = (path: string): ModelStep => ({ toolCalls: [{ name: "read_file", arguments: { path } }] });
const textsOf = ({ messages }: ModelRequest): string[] => messages.map(wireText);
/** The words, the calls and the definitions of tools of a request; without the marks of the wire. */
const tokensOf = (request: ModelRequest): number => {
  const calls = request.messages.flatMap(({ tool_calls }) => tool_calls ?? []);
  return (
    countText(textsOf(request).join("") + calls.map((call) => call.function["arguments"]).join("")) +
    countText(JSON.stringify(request.body.tools ?? []))
  );
};
const stepsOf = ({ events }: TestWorkflow): string[] =>
  events.flatMap((event) => (event.type === "context_overflow" ? [event.step] : []));

function expectSent(flow: TestWorkflow, limit: number): void {
  for (const request of flow.model.requests) {
    expect(strictProblems(request.messages)).toEqual([]);
    expect(tokensOf(request)).toBeLessThan(limit);
  }
}

describe("the other model, whose window is another", () => {
  const small = 3000;
  const windows = {
    profile: (model: string) => ({ ...builtInProfiles(model), context: model === "openai:small" ? small : 128_000 }),
    roles: () => ({ main: "openai:scripted" }),
  };
  const talk = Array.from({ length: 19 }, (_, turn) => [
    new HumanMessage({ id: `h${turn}`, content: `${turn} ${"word ".repeat(300)}` }),
    new AIMessage({ id: `a${turn}`, content: "word ".repeat(200) }),
  ]).flat();
  const other = { ...free, fallback_model: "openai:small", limits: { agentic_connection_retries: 0 } };
  const down: ModelStep = { fault: { kind: "status", status: 503, message: "down" } };

  it("is sent what it can read, in that call and in those after it", async () => {
    const flow = await start({
      files: { "a.txt": "content" },
      handler: ({ index }) => (index === 0 ? down : index === 1 ? reads("a.txt") : { text: "Read." }),
    });
    flow.services.models = windows;
    await flow.update({ messages: talk });
    await flow.send("look at a.txt", other);
    const [first, ...others] = flow.model.requests.map(tokensOf);
    expect(first).toBeGreaterThan(small);
    expect(others).toHaveLength(2);
    for (const tokens of others) expect(tokens).toBeLessThan(small);
    for (const request of flow.model.requests) expect(textsOf(request)).toContain("look at a.txt");
    const limits = flow.events.flatMap((event) => (event.type === "context_usage" ? [event.limit] : []));
    expect(limits).toEqual([128_000, small, small]);
  });

  it("is so too where a person chooses it", async () => {
    const refused: ModelStep = { fault: { kind: "status", status: 401, message: "no" } };
    const flow = await start({ handler: ({ index }) => (index === 0 ? refused : { text: "Here." }) });
    flow.services.models = windows;
    await flow.update({ messages: talk });
    await flow.send("look", { ...other, on_error: "ask" });
    await flow.answer("TryAlternative", { ...other, on_error: "ask" });
    expect(flow.model.requests.map(({ body }) => body.model)).toEqual(["scripted", "small"]);
    expect(tokensOf(flow.model.requests[1] ?? expect.unreachable())).toBeLessThan(small);
  });

  it("is shown more where it reads more", async () => {
    // Too little for the tools beside the conversation, and enough not to compress it.
    const limit = Math.ceil(countMessages(talk) / 0.78);
    const flow = await start({ handler: ({ index }) => (index === 0 ? down : { text: "Here." }) });
    flow.services.models = {
      ...windows,
      profile: (model) => ({ ...builtInProfiles(model), context: model === "openai:small" ? 128_000 : limit }),
    };
    await flow.update({ messages: talk });
    await flow.send("look", { ...other, tools: undefined });
    const [first = 0, second = 0] = flow.model.requests.map(({ messages }) => messages.length);
    expect(second).toBe(2 + talk.length);
    expect(first).toBeLessThan(second);
  });
});

describe("a turn that outgrows the window", () => {
  const long = Array.from(
    { length: 12 },
    (_, at) => [`f${at}.txt`, `${at} ${"text ".repeat(18)}\n`.repeat(50)] as const,
  );

  it("goes on with texts cut, then with the last round, each request valid and within the window", async () => {
    const limit = 5000;
    const flow = await start({
      files: Object.fromEntries(long),
      contextLimit: limit,
      handler: ({ index }) => (index < 12 ? reads(`f${index}.txt`) : { text: "I have read them all." }),
    });
    const limits = { safe_zone: "1M", stagnation_threshold: 50 };
    const { messages } = await flow.send("Read all twelve files", { ...free, limits });
    expect(messages.at(-1)?.text).toBe("I have read them all.");
    expect(messages.filter(isToolMessage).every(({ text }) => text.length > 4000)).toBe(true);
    expect(stepsOf(flow)).toEqual(["turn"]);
    expectSent(flow, limit);
    for (const request of flow.model.requests) expect(textsOf(request)).toContain("Read all twelve files");
  });

  it("ends up with the request, the last round, and a few lines about the others", async () => {
    const limit = 1650;
    const flow = await start({
      files: Object.fromEntries(long),
      contextLimit: limit,
      handler: ({ index }) => (index < 12 ? reads(`f${index}.txt`) : { text: "I have read them all." }),
    });
    const limits = { safe_zone: "1M", stagnation_threshold: 50 };
    const { messages } = await flow.send("Read all twelve files", { ...free, limits });
    expect(messages.at(-1)?.text).toBe("I have read them all.");
    expect(stepsOf(flow)).toContain("extreme");
    expectSent(flow, limit);
    const notes = flow.model.requests.flatMap(textsOf).filter((text) => text.includes("earlier messages are left out"));
    expect(notes.at(-1)).toContain("assistant: calls read_file");
  });
});

describe("a request beside which data has no room", () => {
  const references = [{ type: "file", source: "notes.md", content: "note ".repeat(28_000) }];

  it("is sent without what was collected for it, but with what the user refers to", async () => {
    const parts = Array.from({ length: 400 }, (_, at) => `R${at} node${at} 0 1k`).join("\n");
    const flow = await start({ contextLimit: 40_000, handler: () => ({ text: "Yes." }) });
    const collect = async () => parts;
    flow.services.collectors = [{ name: "parts", title: "Parts", priority: 10, reserved: 0, collect }];
    const { messages } = await flow.send("Look at my notes", { mode: "reply", references });
    expect(messages.at(-1)?.text).toBe("Yes.");
    expect(stepsOf(flow)).toEqual(["system_text"]);
    const [system = ""] = textsOf(flow.model.requests.at(-1) as ModelRequest);
    expect(system).toContain("You are the assistant of Millrace");
    expect(system).toContain("note note");
    expect(system).not.toContain("R1 node1");
    expectSent(flow, 40_000);
  });

  it("is refused where what the user refers to has no room, with words on what to do", async () => {
    const flow = await start({ contextLimit: 30_000, handler: () => ({ text: "Never." }) });
    await expect(flow.send("Look at my notes", { mode: "reply", references })).rejects.toMatchObject({
      code: "context_overflow",
      suggestion: expect.stringContaining("fewer references"),
    });
    expect(flow.model.requests).toEqual([]);
  });
});

describe("a request that cannot be brought into the window", () => {
  const words = "word ".repeat(4000);

  it("is not sent, and the error says what takes how much", async () => {
    const flow = await start({ contextLimit: 3000, handler: () => ({ text: "Never." }) });
    await expect(flow.send(words, { mode: "reply" })).rejects.toMatchObject({
      code: "context_overflow",
      message: expect.stringMatching(
        /about \d+ tokens, and openai:scripted reads 3000: the system text \d+, .*what is said/u,
      ),
      suggestion: expect.stringContaining("shorter message"),
    });
    expect(flow.model.requests).toEqual([]);
    expect((await flow.state()).messages.map(({ text }) => text)).toEqual([words]);
  });

  it("goes without tools where those are too many, and the turn says so", async () => {
    const flow = await start({ contextLimit: 1500, handler: () => ({ text: "Open it by hand." }) });
    const { messages } = await flow.send("Read a.txt", { mode: "free_work" });
    expect(messages.at(-1)?.text).toBe("Open it by hand.");
    expect(flow.model.requests.map(({ toolNames }) => toolNames)).toEqual([[]]);
    expect(flow.events.find(({ type }) => type === "degraded")).toMatchObject({
      plan: "without_tools",
      error_type: "context_overflow",
    });
    expectSent(flow, 2500);
  });
});
