import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { type Callback, createCallbackInvoker } from "../../src/callbacks/callback.ts";
import { pairsToDrop, type DocumentPair, type DocumentSource } from "../../src/context/documentation/documentation.ts";
import { documentsOf } from "../support/toolkit-services.ts";
import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { startWithAgents } from "../agents/agent-flow.ts";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../support/workflow.ts";

let flow: TestWorkflow | undefined;
afterEach(async () => {
  await flow?.close();
  flow = undefined;
});

const always = (text: string): string => `---\nalwaysApply: true\n---\n${text}`;
const context = { mode: "free_work" };
const acknowledgement = "I have read the rules and will follow them.";

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  flow = await startWorkflow(options);
  flow.services.documents = documentsOf(flow.workspace);
  return flow;
}

/** A source as toolkits have them. */
function source(kind: string, text: string | null): DocumentSource {
  const render = () => (text === null ? null : { text, acknowledgement: "I have read it." });
  return { kind, point: "tools", load: () => ({ kind, count: text === null ? 0 : 1, problems: 0, render }) };
}

/** The sources beside which the rules stand. */
async function startBeside(documents: readonly DocumentSource[], options: TestWorkflowOptions): Promise<TestWorkflow> {
  const running = await start(options);
  const rules = running.services.documents?.filter(({ kind }) => kind === "rules") ?? [];
  running.services.documents = [...documents, ...rules];
  return running;
}

async function write(path: string, text: string): Promise<void> {
  const file = join(flow?.workspace ?? "", path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

/** The messages of the nth request: role and text. */
function sent({ model }: TestWorkflow, index: number): { role: string; text: string }[] {
  const request: ModelRequest | undefined = model.requests[index];
  return (request?.messages ?? []).map((message) => ({ role: message.role, text: wireText(message) }));
}

describe("the rules of the user", () => {
  it("stand as a pair between the system text and the conversation, and are kept nowhere", async () => {
    const running = await start({
      files: { ".autocoderrules/style.md": always("Write in verse.") },
      script: [{ text: "Hello." }, { text: "Again." }],
    });
    await running.send("Say hello, my friend", context);
    const state = await running.send("And again, my friend", context);
    for (const [index, length] of [4, 6].entries()) {
      const messages = sent(running, index);
      expect(messages).toHaveLength(length);
      expect(messages.slice(0, 4).map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
      expect(messages[1]?.text).toContain("Write in verse.");
      expect(messages[2]?.text).toBe(acknowledgement);
    }
    expect(state.messages.map((message) => message.text)).toEqual([
      "Say hello, my friend",
      "Hello.",
      "And again, my friend",
      "Again.",
    ]);
    // The same bytes, which a provider can cache.
    expect(sent(running, 1).slice(0, 4)).toEqual(sent(running, 0));
  });

  it("count from the next turn on when a file is new, changed or gone, with no restart", async () => {
    const script: ModelStep[] = Array.from({ length: 4 }, () => ({ text: "Done." }));
    const running = await start({ script });
    await running.send("One little thing, please", context);
    await write(".autocoderrules/a.md", always("Be brief."));
    await running.send("Another little thing, please", context);
    await write(".autocoderrules/a.md", always("Be very long."));
    await running.send("A third little thing, please", context);
    await rm(join(running.workspace, ".autocoderrules/a.md"));
    await running.send("A last little thing, please", context);
    const pairs = [0, 1, 2, 3].map((index) => sent(running, index)[1]?.text ?? "");
    expect(pairs[0]).toBe("One little thing, please");
    expect(pairs[1]).toContain("Be brief.");
    expect(pairs[2]).toContain("Be very long.");
    expect(pairs[3]).toBe("One little thing, please");
  });

  it("for some files count when the request names one, and when a call of the turn touches one", async () => {
    const running = await start({
      files: {
        ".autocoderrules/python.md": '---\nglobs: "**/*.py"\n---\nUse snake_case.',
        "src/app.py": "x = 1",
      },
      script: [
        { text: "Nothing of Python." },
        { text: "Seen." },
        { toolCalls: [{ name: "read_file", arguments: { path: "src/app.py" } }] },
        { text: "It says x = 1." },
      ],
    });
    await running.send("Tell me a story, please", context);
    await running.send("What does app.py do, please?", context);
    await running.send("Look at the program and tell me, please", context);
    const place = [0, 1, 2, 3].map((index) =>
      sent(running, index).findIndex(({ text }) => text.includes("snake_case")),
    );
    // Before the conversation where the request names the file, and after the result where a call did.
    expect(place).toEqual([-1, 1, -1, sent(running, 3).length - 1]);
    // Without its text a rule is still named, so that the model can read it.
    expect(sent(running, 0)[1]?.text).toContain("- .autocoderrules/python.md: for **/*.py");
  });

  it("for some files count when the editor shows one, or the user refers to one", async () => {
    const running = await start({
      files: { ".autocoderrules/python.md": '---\nglobs: "**/*.py"\n---\nUse snake_case.' },
      script: [{ text: "Seen." }, { text: "Seen." }],
    });
    await running.send("What is this, please?", {
      ...context,
      document: { path: join(running.workspace, "src/a.py") },
    });
    const references = [{ type: "file", source: "b.py", content: "x = 1" }];
    await running.send("And what is that, please?", { ...context, references });
    for (const index of [0, 1]) expect(sent(running, index)[1]?.text).toContain("Use snake_case.");
  });

  it("that are broken stop no run: what can be read counts", async () => {
    const running = await start({
      files: {
        ".autocoderrules/a.md": "---\nalwaysApply: [\n---\nBroken head.",
        ".autocoderrules/b.md": "\0binary",
        ".autocoderrules/c.md": always("Good rule."),
      },
      script: [{ text: "Hello." }],
    });
    const state = await running.send("Say hello, my friend", context);
    expect(state.messages.at(-1)?.text).toBe("Hello.");
    expect(sent(running, 0)[1]?.text).toContain("Good rule.");
    expect(sent(running, 0)[1]?.text).not.toContain("binary");
  });

  it("reach no model call whose answer is for the program", async () => {
    const running = await start({
      files: { ".autocoderrules/style.md": always("Write in verse.") },
      handler: () => ({ text: "{}" }),
    });
    await running.send("write a report");
    const silent = running.model.requests.filter((_, index) => !sent(running, index)[1]?.text.includes("in verse"));
    expect(silent.length).toBeGreaterThan(0);
  });
});

describe("an agent's documentation", () => {
  const agent = (name: string, more: string): string =>
    `---\nname: ${name}\ndescription: Works\n${more}---\nYou are ${name}.\n`;

  it("are the rules, where its file says so", async () => {
    flow = await startWithAgents({
      files: {
        ".autocoderrules/style.md": always("Write in verse."),
        ".autocoderagents/a.md": agent("poet", "include_rules: true\n"),
        ".autocoderagents/b.md": agent("clerk", ""),
      },
      handler: (request) => {
        const system = wireText(request.messages[0] ?? { role: "system", content: "" });
        if (/You are (poet|clerk)\./u.test(system)) return { text: "Done." };
        const hasResult = request.messages.some(({ role }) => role === "tool");
        const subagents = ["poet", "clerk"].map((name) => ({ name, task: "Write a line" }));
        return hasResult
          ? { text: "Both have written." }
          : { toolCalls: [{ name: "run_named_subagents", arguments: { subagents } }] };
      },
    });
    flow.services.documents = documentsOf(flow.workspace);
    await flow.send("Have both write a line, please", context);
    const knows = (name: string): boolean[] =>
      flow?.model.requests
        .filter(({ messages }) => wireText(messages[0] ?? { role: "system", content: "" }).includes(`You are ${name}.`))
        .map(({ messages }) => messages.some((message) => wireText(message).includes("in verse"))) ?? [];
    expect(knows("poet")).toEqual([true]);
    expect(knows("clerk")).toEqual([false]);
  });
});

describe("callbacks around the loading (EVENT-03)", () => {
  it("are called once per kind and turn, with what was found", async () => {
    const calls: string[] = [];
    const render = (point: string) => (about: { session_id: string; count?: number; problems?: number }) =>
      void calls.push(
        [point, about.session_id, about.count, about.problems].filter((part) => part !== undefined).join(" "),
      );
    const callback: Callback = {
      name: "recorder",
      pre_tools_loaded: render("pre_tools"),
      post_tools_loaded: render("post_tools"),
      pre_rules_loaded: render("pre_rules"),
      post_rules_loaded: render("post_rules"),
    };
    const running = await startBeside([source("notes", "Noted.")], {
      files: { ".autocoderrules/a.md": always("Good rule."), ".autocoderrules/b.md": "\0" },
      script: [{ text: "Hello." }],
    });
    running.services.invokeCallbacks = createCallbackInvoker([callback], ({ err }) => expect.unreachable(String(err)));
    await running.send("Say hello, my friend", context);
    expect(calls).toEqual([
      "pre_tools session-1",
      "post_tools session-1 1 0",
      "pre_rules session-1",
      "post_rules session-1 1 1",
    ]);
  });
});

describe("documentation that there is no room for", () => {
  const pair = (kind: DocumentPair["kind"], tokens: number): DocumentPair => ({
    kind,
    tokens,
    messages: [new HumanMessage("a"), new AIMessage("b")],
  });
  const pairs = [pair("packages", 300), pair("tools", 100), pair("rules", 100)];

  it.each([
    [0, 1000, 0],
    [400, 1000, 0],
    [401, 1000, 1],
    [700, 1000, 1],
    [701, 1000, 2],
    [800, 1000, 2],
    [801, 1000, 3],
    [5000, 1000, 3],
    // Alone it would fit, but it takes more than half of the window.
    [0, 990, 1],
    [0, 100, 3],
  ])("beside %i tokens in a window of %i: the first %i go", (needed, limit, dropped) => {
    expect(pairsToDrop(pairs, needed, limit)).toBe(dropped);
    expect(pairsToDrop([], needed, limit)).toBe(0);
  });

  it("is left out, and an event says which", async () => {
    const running = await start({
      files: { ".autocoderrules/long.md": always("Follow me. ".repeat(2_000)) },
      script: [{ text: "Hello." }],
      contextLimit: 6_000,
    });
    await running.send("Say hello, my friend", context);
    expect(sent(running, 0).map(({ role }) => role)).toEqual(["system", "user"]);
    expect(running.events.filter(({ type }) => type === "documentation_dropped")).toMatchObject([{ kinds: ["rules"] }]);
  });

  it.each([
    ["what was left out", 6_000, ["Write in verse."], ["Counts words"]],
    ["all of it", 60_000, ["Counts words", "Write in verse."], []],
  ])(
    "is chosen again as before when a restart comes before the model is asked: %s",
    async (_name, limit, documents, not) => {
      const running = await startBeside([source("notes", "Counts words ".repeat(1_000))], {
        files: { ".autocoderrules/style.md": always("Write in verse.") },
        script: [{ text: "Hello." }],
        contextLimit: limit,
      });
      const { services } = running;
      const { loadModel } = services;
      services.loadModel = () => {
        throw new Error("power cut");
      };
      await expect(running.send("Say hello, my friend", context)).rejects.toThrow("power cut");
      services.loadModel = loadModel;
      await running.goOn(context);
      const texts = sent(running, 0).map(({ text }) => text);
      expect(texts).toHaveLength(2 + 2 * documents.length);
      for (const [index, part] of documents.entries()) expect(texts[1 + 2 * index]).toContain(part);
      for (const part of not) expect(texts.join("\n")).not.toContain(part);
    },
  );
});
