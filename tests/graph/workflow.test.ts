import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { workflow } from "../../src/graph/workflow.ts";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../support/workflow.ts";
import { createLogger } from "@millrace/engine/logger";
import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { compress } from "../../src/prompts/templates/compress.ts";
import { hasPrompt } from "../support/system-text.ts";

const running: TestWorkflow[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((flow) => flow.close()));
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  const flow = await startWorkflow(options);
  running.push(flow);
  return flow;
}

const task = (request: ModelRequest): "compress" | "work" =>
  hasPrompt(request.messages.map(wireText).join("\n"), compress) ? "compress" : "work";

describe("intent", () => {
  it("replies to thanks without tools and without asking the model where to go", async () => {
    const flow = await start({ script: [{ text: "You are welcome." }] });
    const state = await flow.send("Thanks!");
    expect(state.route).toBe("reply");
    expect(flow.model.requests[0]?.toolNames).toEqual([]);
    expect(state.session_id).toBe("session-1");
  });

  it("leaves every other request to the loop with its tools, without a model call before it", async () => {
    const flow = await start({ script: [{ text: "I see." }, { text: "Done." }] });
    expect((await flow.send("Think it over and then tell me more")).route).toBe("free_work");
    expect((await flow.send("Find where the config is loaded and change the default port")).route).toBe("free_work");
    expect(flow.model.requests.map(({ toolNames }) => toolNames.includes("read_file"))).toEqual([true, true]);
  });

  it("follows the run's own choice and the selected tool", async () => {
    const flow = await start({
      files: { a: "1" },
      script: [{ toolCalls: [{ name: "list_files", arguments: {} }] }, { text: "One file." }],
    });
    const state = await flow.send("What is here?", { selected_tool: "list_files" });
    expect(state.route).toBe("action");
    expect(flow.model.requests[0]?.body["tool_choice"]).toEqual({ type: "function", function: { name: "list_files" } });
  });

  it("gives chat mode no tools, whatever the run wants", async () => {
    // It is the session's own once a run has chosen it (STATE-12).
    const wanted = [
      { chat_mode: "chat" },
      {},
      { mode: "free_work" },
      { mode: "plan" },
      { selected_tool: "list_files" },
    ];
    const flow = await start({ handler: () => ({ text: "Just talking." }) });
    for (const context of wanted) expect((await flow.send("list the files", context)).chat_mode).toBe("chat");
    expect((await flow.state()).messages).toHaveLength(10);
    expect(flow.model.requests.map(({ toolNames }) => toolNames)).toEqual(Array.from({ length: 5 }, () => []));
    await flow.send("list the files", { chat_mode: "agent" });
    expect(flow.model.requests.at(-1)?.toolNames).toContain("list_files");
  });

  it("refuses a context it cannot use, naming the field", async () => {
    const flow = await start({});
    await expect(flow.send("hello there friend", { mode: "sideways" })).rejects.toThrow(/mode/u);
    await expect(flow.send("list files", { tools: ["fly"] })).rejects.toThrow(/fly/u);
  });
});

/** A call of the tool that writes the list of steps. */
const todos = (...steps: [content: string, status: string][]): ModelStep => ({
  toolCalls: [{ name: "write_todos", arguments: { todos: steps.map(([content, status]) => ({ content, status })) } }],
});

describe("a plan", () => {
  const script: ModelStep[] = [
    todos(["write b.txt", "in_progress"], ["read a.txt", "pending"]),
    { toolCalls: [{ name: "create_file", arguments: { path: "b.txt", content: "beta" } }] },
    todos(["write b.txt", "completed"], ["read a.txt", "in_progress"]),
    { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] },
    todos(["write b.txt", "completed"], ["read a.txt", "completed"]),
    { text: "Wrote b.txt and read a.txt." },
  ];

  it.each([
    ["by the run's choice", "write b.txt and read a.txt", { mode: "plan" }],
    ["in the user's own words", "First make a plan, then write b.txt and read a.txt", {}],
  ])("is written by the model where it is wanted %s, sent at each change, and kept", async (_how, request, context) => {
    const flow = await start({ files: { "a.txt": "alpha" }, script });
    const state = await flow.send(request, context);
    expect(state.route).toBe("plan");
    expect(await readFile(join(flow.workspace, "b.txt"), "utf8")).toBe("beta");
    const states = flow.events.flatMap((event) => {
      const PlanEvent = z.object({
        type: z.literal("plan"),
        plan: z.object({ steps: z.array(z.object({ status: z.string() })) }),
      });
      const parsed = PlanEvent.safeParse(event);
      return parsed.success ? [parsed.data.plan.steps.map(({ status }) => status)] : [];
    });
    expect(states).toEqual([
      ["running", "pending"],
      ["done", "running"],
      ["done", "done"],
    ]);
    expect(state.task_plan).toMatchObject({
      status: "done",
      steps: [
        { id: "1", goal: "write b.txt", status: "done" },
        { id: "2", goal: "read a.txt", status: "done" },
      ],
    });
    expect(state.messages.at(-1)?.text).toBe("Wrote b.txt and read a.txt.");
    const system = wireText(flow.model.requests[0]?.messages[0] ?? { role: "none" });
    expect(system).toContain("Before anything else, write the steps with write_todos");
    expect(system).toContain("Then carry them out in that order");
    // As many calls as rounds of tools, and one: nothing is asked twice.
    expect(flow.model.requests).toHaveLength(6);
  });

  it("changes neither the system text nor the tools on the way, so each request begins with the one before it", async () => {
    const flow = await start({ files: { "a.txt": "alpha" }, script });
    await flow.send("write b.txt and read a.txt", { mode: "plan" });
    const sent = flow.model.requests.map(({ messages, toolNames }) => ({
      texts: messages.map((one) => JSON.stringify(one)),
      toolNames,
    }));
    for (const [index, { texts, toolNames }] of sent.entries()) {
      const before = sent[index - 1];
      if (before === undefined) continue;
      expect(texts.slice(0, before.texts.length)).toEqual(before.texts);
      expect(toolNames).toEqual(before.toolNames);
    }
  });

  it("that is not through stays with the next request, and one that is goes", async () => {
    const flow = await start({
      script: [
        todos(["look", "in_progress"]),
        { text: "I have begun." },
        { text: "Still there." },
        todos(["look", "completed"]),
        { text: "Done." },
        { text: "Hello." },
      ],
    });
    await flow.send("Look at it along a plan", { mode: "plan" });
    expect((await flow.send("how far are we with it?")).task_plan?.status).toBe("active");
    expect((await flow.send("go on with it now")).task_plan?.status).toBe("done");
    expect((await flow.send("tell me about the moon")).task_plan).toBeNull();
  });

  it("may be written in any turn with tools, and in none without", async () => {
    const flow = await start({ script: [{ text: "Read." }, { text: "Hello." }] });
    await flow.send("Read the notes", { mode: "plan", tools: ["read_file", "list_files"] });
    await flow.send("hello");
    expect(flow.model.requests.map(({ toolNames }) => toolNames)).toEqual([
      ["read_file", "list_files", "write_todos"],
      [],
    ]);
  });
});

describe("compress", () => {
  const summary = {
    goal: "learn",
    completed: ["talked"],
    todo: [],
    attempted_solutions: [],
    current_problem: "",
    key_decisions: [],
  };

  it("summarises when the window fills, keeps every message, and shows the model the summary instead", async () => {
    const flow = await start({
      contextLimit: 2000,
      handler: (request) =>
        task(request) === "compress" ? { text: JSON.stringify(summary) } : { text: "word ".repeat(600) },
    });
    await flow.send("tell me something");
    await flow.send("and something else");
    await flow.send("and one more thing");
    const state = await flow.send("the last question");
    expect(state.conversation_summary).toMatchObject(summary);
    expect(state.messages.filter((message) => message.getType() === "human")).toHaveLength(4);
    const last = flow.model.requests.at(-1);
    expect(wireText(last?.messages[0] ?? { role: "none" })).toContain("talked");
    expect(last?.messages.length).toBeLessThan(state.messages.length + 1);
  });

  it("reports what was left out, at which level, and the tokens before and after", async () => {
    const flow = await start({
      contextLimit: 4000,
      handler: (request) =>
        task(request) === "compress" ? { text: JSON.stringify(summary) } : { text: "word ".repeat(500) },
    });
    for (const text of ["one", "two", "three", "four", "five", "six"]) await flow.send(`tell me about ${text}`);
    const compressions = flow.events.filter((event) => event.type === "compressed");
    expect(compressions).toEqual([
      expect.objectContaining({ kept: 3, level: "normal", attempts: 1, messages: 8, summary_by: "model" }),
    ]);
    expect(compressions[0]?.tokens_before).toBeGreaterThan(3200);
    expect(compressions[0]?.tokens_after).toBeLessThan(1000);
    expect(flow.events.some((event) => event.type === "suggest_new_conversation")).toBe(false);
  });

  it("suggests a new conversation when the user's own words are too many", async () => {
    const flow = await start({
      contextLimit: 8000,
      handler: (request) => (task(request) === "compress" ? { text: JSON.stringify(summary) } : { text: "Fine." }),
    });
    await flow.send("tell me something");
    const state = await flow.send(`repeat: ${"word ".repeat(2400)}`, { mode: "reply", compress: true });
    expect(state.messages.at(-1)?.text).toBe("Fine.");
    expect(flow.events.find((event) => event.type === "suggest_new_conversation")).toMatchObject({
      limit: 8000,
      attempts: 2,
    });
  });

  it("replaces the summary by the next one, which gets the one before it (COMP-05)", async () => {
    const summaries = [summary, { ...summary, goal: "teach", completed: ["all of it"] }].map((one) => ({
      text: JSON.stringify(one),
    }));
    const asked: ModelRequest[] = [];
    const flow = await start({
      handler: (request) => {
        if (task(request) !== "compress") return { text: "Fine." };
        asked.push(request);
        return summaries.shift() ?? { text: "no" };
      },
    });
    for (const text of ["the moon", "the sun", "mars"]) await flow.send(`tell me about ${text}`);
    await flow.send("tell me about venus", { compress: true });
    for (const text of ["saturn", "jupiter"]) await flow.send(`tell me about ${text}`);
    const state = await flow.send("tell me about pluto", { compress: true });
    expect(state.conversation_summary).toMatchObject({ goal: "teach", completed: ["all of it"] });
    const systemTexts = asked.map(({ messages }) => wireText(messages[0] ?? { role: "none" }));
    expect(systemTexts.map((text) => text.includes("It continues this earlier summary, which yours replaces"))).toEqual(
      [false, true],
    );
    expect(systemTexts[1]).toContain(JSON.stringify(summary).slice(1, -1));
    const shown = wireText(flow.model.requests.at(-1)?.messages[0] ?? { role: "none" });
    expect(shown).toContain("all of it");
    expect(shown).not.toContain("talked");
  });

  it("waits only so long for a summary, then makes one without the model", async () => {
    const flow = await start({
      handler: (request) => (task(request) === "compress" ? { fault: { kind: "hang" } } : { text: "Fine." }),
    });
    for (const text of ["the moon", "the sun", "mars"]) await flow.send(`tell me about ${text}`);
    const limits = { timeout_seconds: 1 };
    const state = await flow.send("tell me about venus", { compress: true, limits });
    expect(state.conversation_summary?.goal).toBe("tell me about the moon");
    expect(state.messages.at(-1)?.text).toBe("Fine.");
    expect(flow.events.find((event) => event.type === "compressed")).toMatchObject({ summary_by: "plain" });
  });

  it("does nothing else where that is all that is wanted", async () => {
    const flow = await start({
      handler: (request) => (task(request) === "compress" ? { text: JSON.stringify(summary) } : { text: "Fine." }),
    });
    for (let turn = 0; turn < 8; turn += 1) await flow.send(`tell me about ${turn}`);
    const asked = flow.model.requests.length;
    const state = await flow.send("not answered", { compress: { keep_recent: 6, only: true } });
    expect(flow.model.requests).toHaveLength(asked + 1);
    expect(state.messages.at(-1)?.text).toBe("not answered");
    expect(state.conversation_summary).toMatchObject({ ...summary, shown: { level: "normal" } });
    expect(flow.events.find((event) => event.type === "compressed")).toMatchObject({ kept: 6, messages: 11 });
  });

  it("makes a plain summary when the model cannot", async () => {
    const flow = await start({
      handler: (request) => (task(request) === "compress" ? { text: "no" } : { text: "Fine." }),
    });
    await flow.send("tell me about the moon");
    await flow.send("tell me about the sun");
    await flow.send("tell me about mars");
    const lines: unknown[] = [];
    flow.services.logger = createLogger("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
    const state = await flow.send("tell me about venus", { compress: true });
    expect(state.conversation_summary?.goal).toBe("tell me about the moon");
    expect(state.messages.at(-1)?.text).toBe("Fine.");
    // A hint that the prompt may need other words, without those of the model (PROMPT-26).
    expect(lines).toContainEqual(
      expect.objectContaining({ msg: "prompt_perhaps_not_understood", node: "compress", session_id: "session-1" }),
    );
  });
});

describe("the drawing", () => {
  it("shows the nodes, and the steps of the loop inside them", async () => {
    const drawing = (await workflow.compile().getGraphAsync({ xray: true })).toJSON();
    // A drawing has its nodes under this name; LangChain types it as any object.
    const ids = (drawing as { nodes: { id: string }[] }).nodes.map(({ id }) => id);
    for (const node of ["compress", "intent", "plan", "free_work", "action"]) {
      for (const step of ["assemble", "call_model", "check_calls", "call_tool", "finish"]) {
        expect(ids).toContain(`${node}:${step}`);
      }
    }
  });
});

describe("the offline model", () => {
  it("really works in the workspace, with no key and no network", async () => {
    const flow = await start({ offline: true, files: { "notes.md": "# Plans\n\nBuild a mill." } });
    const state = await flow.send("create hello.txt with the text good morning");
    expect(await readFile(join(flow.workspace, "hello.txt"), "utf8")).toContain("good morning");
    expect(state.messages.at(-1)?.text).toContain("hello.txt");
    const read = await flow.send("read notes.md");
    expect(read.messages.some((message) => message.getType() === "tool" && message.text.includes("Build a mill"))).toBe(
      true,
    );
  });
});
