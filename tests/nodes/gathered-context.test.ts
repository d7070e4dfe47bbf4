import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { createChangedFiles } from "../../src/context/workspace/changed-files.ts";
import { createMemoryOperations } from "../support/memory-operations.ts";
import { wireText } from "../support/model-server.ts";
import { startWorkflow, type TestWorkflow } from "../support/workflow.ts";

let app: TestWorkflow;
afterEach(() => app.close());

const systemOf = (index: number): string => wireText(app.model.requests[index]?.messages[0] ?? { role: "none" });

describe("what the user's editor shows and refers to", () => {
  it("stands in the system text of the request that brings it, after the facts, and of no other", async () => {
    app = await startWorkflow({ script: [{ text: "It is about ships." }, { text: "Hello." }] });
    const references = [{ type: "file", source: "ships.md", content: "Three ships." }];
    const document = { path: "story.md", selected_text: "the harbour", unsaved_changes: true };
    await app.send("what is it about", { mode: "free_work", document, references });
    await app.send("hello", { mode: "free_work" });
    const [with_, without] = [systemOf(0), systemOf(1)];
    expect(with_).toContain("Current document: story.md");
    expect(with_).toContain("the harbour");
    expect(with_).toContain("Reference 1: file (source: ships.md)");
    expect(with_.indexOf("story.md")).toBeLessThan(with_.indexOf("ships.md"));
    expect(with_.startsWith(without)).toBe(true);
  });

  it("is never shortened: the conversation before it is left out first (MSG-09)", async () => {
    app = await startWorkflow({ contextLimit: 8000, handler: () => ({ text: "Yes." }) });
    const said = Array.from({ length: 18 }, (_, turn) => [
      new HumanMessage({ id: `h${turn}`, content: `${turn} ${"word ".repeat(100)}` }),
      new AIMessage({ id: `a${turn}`, content: "word ".repeat(80) }),
    ]);
    await app.update({ messages: said.flat() });
    const content = Array.from({ length: 600 }, (_, line) => `line ${line}`).join("\n");
    await app.send("look", { mode: "free_work", references: [{ type: "file", source: "a.txt", content }] });
    const [request] = app.model.requests;
    expect(systemOf(0)).toContain(content);
    expect(request?.messages.length).toBeLessThan(40);
    expect(wireText(request?.messages.at(-1) ?? { role: "none" })).toBe("look");
  });

  it.each([
    [{ references: [{ type: "file", source: "a", content: 5 }] }, "content"],
    [{ references: Array.from({ length: 51 }, () => ({ type: "text", source: "", content: "" })) }, "references"],
    [{ document: { selected_text: "x".repeat(100_001) } }, "selected_text"],
  ])("is refused when it is not what is expected: %o", async (context, named) => {
    app = await startWorkflow();
    await expect(app.send("hello", { mode: "free_work", ...context })).rejects.toThrow(named);
    expect(app.model.requests).toEqual([]);
  });
});

describe("what is collected about the session's circuit", () => {
  it("stands before the facts, is the same through the turn, and a source that fails is told of", async () => {
    app = await startWorkflow({
      files: { "amp.cir": "Amplifier\nR1 a 0 1k\n", "result.json": "{" },
      script: [
        { toolCalls: [{ name: "update_file", arguments: { path: "amp.cir", content: "Amplifier\nR1 a 0 2k\n" } }] },
        { text: "Done." },
        { text: "It is 2k." },
      ],
    });
    await app.update({ circuit_file_path: "amp.cir", sim_result_path: "result.json" });
    await app.send("double R1", { mode: "free_work" });
    expect(await app.interrupts()).toEqual([]);
    await app.send("how large is R1", { mode: "free_work" });
    expect(systemOf(0)).toContain("## Current circuit\n\nFile: amp.cir");
    expect(systemOf(0)).toContain("2: R1 a 0 1k");
    expect(systemOf(0).indexOf("## Current circuit")).toBeLessThan(systemOf(0).indexOf("<!-- layer: context -->"));
    expect(systemOf(1)).toBe(systemOf(0));
    expect(systemOf(2)).toContain("2: R1 a 0 2k");
    expect(app.events).toContainEqual({
      type: "context_warning",
      source: "simulation",
      reason: '"result.json" is not JSON.',
    });
  });

  it("stands in the order of the requirements, with the summary after it and what the user shows at the end (CTX-15)", async () => {
    app = await startWorkflow({
      files: {
        "amp.cir": 'Amplifier\n.include "npn.inc"\nR7 a 0 1k\n',
        "npn.inc": ".model npn npn\n",
        "r.json": '{"metrics": {"gain": 31}}',
        "goals.json": '{"goals": [{"metric": "gain", "target": 40}]}',
        "notes.md": "R7 is hot\n",
      },
      script: [{ text: "Yes." }],
    });
    const said = [new HumanMessage({ id: "h0", content: "hello" }), new AIMessage({ id: "a0", content: "hi" })];
    const lists = { completed: [], todo: [], attempted_solutions: [], key_decisions: [] };
    await app.update({
      messages: said,
      conversation_summary: { goal: "a small amplifier", current_problem: "", through_message_id: "a0", ...lists },
      circuit_file_path: "amp.cir",
      sim_result_path: "r.json",
      design_goals_path: "goals.json",
      error_context: "no convergence",
    });
    const references = [{ type: "file", source: "ships.md", content: "Three ships." }];
    await app.send("how is R7", { mode: "free_work", references, document: { path: "story.md" } });
    const text = systemOf(0);
    const inOrder = [
      "## Diagnostics",
      "## Current circuit",
      "## Included files",
      "## Design goals",
      "## Last simulation",
      "## Found in the workspace",
      "a small amplifier",
      "## Editor",
      "## References",
    ];
    const places = inOrder.map((words) => text.indexOf(words));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((left, right) => left - right));
  });

  it("also comes from sources that the server adds", async () => {
    app = await startWorkflow({ files: { "amp.cir": "Amplifier\n" }, script: [{ text: "Yes." }] });
    const collect = async () => "The customer wants it small.";
    app.services.collectors = [{ name: "wishes", title: "Wishes", priority: 30, reserved: 50, collect }];
    await app.update({ circuit_file_path: "amp.cir" });
    await app.send("look", { mode: "free_work" });
    expect(systemOf(0)).toContain("## Wishes\n\nThe customer wants it small.");
  });

  it("knows what tools have changed just now (CTX-11)", async () => {
    const change = { name: "update_file", arguments: { path: "notes.md", content: "R7 is hot\n" } };
    app = await startWorkflow({
      files: { "amp.cir": "Amplifier\nR7 a 0 1k\n", "a.md": "R7 is small\n", "notes.md": "none\n" },
      script: [{ toolCalls: [change] }, { text: "Done." }, { text: "Yes." }],
    });
    app.services.operations = createMemoryOperations();
    app.services.changedFiles = createChangedFiles();
    await app.update({ circuit_file_path: "amp.cir" });
    await app.send("note it", { mode: "free_work" });
    expect(await app.interrupts()).toEqual([]);
    await app.send("how is R7", { mode: "free_work" });
    expect(app.services.changedFiles.recent(Date.now())).toEqual(["notes.md"]);
    expect(systemOf(2)).toContain("## Found in the workspace\n\nnotes.md:1: R7 is hot\na.md:1: R7 is small");
  });

  it("also tells which other files name what the request names (CTX-09)", async () => {
    app = await startWorkflow({
      files: { "amp.cir": "Amplifier\nR7 a 0 1k\n", "notes/a.md": "R7 gets hot\nR70 does not\n", "b.bin": "R7" },
      script: [{ text: "Yes." }],
    });
    await app.update({ circuit_file_path: "amp.cir" });
    await app.send("why is r7 or R7 so large", { mode: "free_work" });
    expect(systemOf(0)).toContain("## Found in the workspace\n\nnotes/a.md:1: R7 gets hot");
    expect(systemOf(0)).not.toContain("R70");
  });

  it("also comes for a circuit that only the editor shows", async () => {
    app = await startWorkflow({
      files: { "lib/amp.cir": "Amplifier\nR1 a 0 1k\n" },
      handler: () => ({ text: "Yes." }),
    });
    await app.send("look", { mode: "free_work", document: { path: "lib/amp.cir" } });
    await app.send("look", { mode: "free_work", document: { path: `${app.workspace}/lib/amp.cir` } });
    await app.send("look", { mode: "free_work", document: { path: "/home/x/lib/amp.cir", workspace_path: "/home/x" } });
    await app.send("look", { mode: "free_work", document: { path: "lib/amp.md" } });
    const shown = [0, 1, 2, 3].map((index) => systemOf(index).includes("## Current circuit\n\nFile: lib/amp.cir"));
    expect(shown).toEqual([true, true, true, false]);
  });

  it("tells the last error once, also where the circuit cannot be read", async () => {
    app = await startWorkflow({
      files: { "amp.cir": "Amplifier\n", "r.json": "{}" },
      handler: () => ({ text: "Yes." }),
    });
    await app.update({ circuit_file_path: "amp.cir", sim_result_path: "r.json", error_context: "no convergence" });
    await app.send("look", { mode: "free_work" });
    await app.update({ circuit_file_path: "gone.cir" });
    await app.send("look", { mode: "free_work" });
    await app.update({ circuit_file_path: null, sim_result_path: null });
    await app.send("look", { mode: "free_work" });
    const times = [0, 1, 2].map((index) => systemOf(index).split("no convergence").length - 1);
    expect(times).toEqual([1, 1, 1]);
  });

  it("is not asked for where the session names nothing", async () => {
    app = await startWorkflow({ script: [{ text: "Yes." }] });
    let asked = 0;
    const collect = async () => {
      asked += 1;
      return null;
    };
    app.services.collectors = [{ name: "wishes", title: "Wishes", priority: 30, reserved: 50, collect }];
    await app.send("look", { mode: "free_work" });
    expect(asked).toBe(0);
  });
});

describe("system texts in the conversation", () => {
  it("stand in the one system message, each once, through a compression too (COMP-03, COMP-12, CTX-20)", async () => {
    app = await startWorkflow({
      handler: ({ messages }) => ({
        text: wireText(messages[0] ?? { role: "none" }).includes("task: compress") ? '{"goal": "talk"}' : "Yes.",
      }),
    });
    const brief = (id: string) => new SystemMessage({ id, content: "Answer in verse." });
    const said = Array.from({ length: 8 }, (_, turn) => [
      new HumanMessage({ id: `h${turn}`, content: `question ${turn}` }),
      new AIMessage({ id: `a${turn}`, content: "word" }),
    ]);
    await app.update({ messages: [brief("s1"), ...said.flat(), brief("s2")] });
    await app.send("and now", { mode: "free_work" });
    await app.send("and then", { mode: "free_work", compress: true });
    const [first, summariser, last] = app.model.requests.map(({ messages }) => messages);
    for (const sent of [first, last]) {
      expect(sent?.map(({ role }) => role).lastIndexOf("system")).toBe(0);
      expect(wireText(sent?.[0] ?? { role: "none" }).split("Answer in verse.")).toHaveLength(2);
    }
    expect(wireText(summariser?.[0] ?? { role: "none" })).not.toContain("Answer in verse.");
    expect(last?.map(wireText).join("\n")).not.toContain("question 0");
    expect(app.events.filter(({ type }) => type === "context_check")).toEqual([]);
    // The conversation itself keeps them where they were.
    expect((await app.state()).messages.filter(({ type }) => type === "system")).toHaveLength(2);
  });

  it("stand there up to a share of the window: the first, those of the newest request, and how many are left out", async () => {
    app = await startWorkflow({ handler: () => ({ text: "Yes." }), contextLimit: 40_000 });
    const clock = (turn: number) => `It is turn ${turn} by the clock. ${"tick ".repeat(200)}`.trim();
    const said = Array.from({ length: 100 }, (_, turn) => [
      new SystemMessage({ id: `t${turn}`, content: clock(turn) }),
      new HumanMessage({ id: `h${turn}`, content: `question ${turn}` }),
      new AIMessage({ id: `a${turn}`, content: "word" }),
    ]);
    const brief = (id: string) => new SystemMessage({ id, content: "Answer in verse." });
    await app.update({ messages: [brief("s1"), ...said.flat()] });
    await app.send("and now", { mode: "free_work" });
    const text = systemOf(0);
    expect(text).toContain("Answer in verse.");
    expect(text).toContain(clock(0));
    expect(text).toContain(clock(99));
    expect(text).toContain(clock(90));
    expect(text).not.toContain(clock(50));
    const shown = text.split("by the clock").length - 1;
    expect(text).toContain(`there were too many: ${100 - shown}`);
    // 15 % of the window, at four characters for a token.
    expect(shown * clock(0).length).toBeLessThan(40_000 * 0.15 * 4 + clock(0).length);

    // Those that come with one request are never cut.
    const long = ["first", "second"].map((name) => new SystemMessage(`${name} rule: ${"obey ".repeat(4000)}`));
    await app.update({ messages: long });
    await app.send("and then", { mode: "free_work" });
    const later = systemOf(app.model.requests.length - 1);
    for (const kept of ["first rule", "second rule", "Answer in verse.", "there were too many: 99"]) {
      expect(later).toContain(kept);
    }
  });
});
