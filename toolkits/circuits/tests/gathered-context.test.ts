import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { createChangedFiles } from "../../../src/context/workspace/changed-files.ts";
import { createTestOperations } from "../../../tests/support/test-storage.ts";
import { wireText } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../../tests/support/workflow.ts";

let app: TestWorkflow;
afterEach(() => app.close());

const systemOf = (index: number): string => wireText(app.model.requests[index]?.messages[0] ?? { role: "none" });

describe("what is collected about the session's circuit", () => {
  it("precedes the facts, stays the same through the turn, and reports a failed source", async () => {
    app = await startWorkflow({
      files: { "amp.cir": "Amplifier\nR1 a 0 1k\n", "result.json": "{" },
      script: [
        {
          toolCalls: [
            {
              name: "edit_file",
              arguments: { path: "amp.cir", edits: [{ old_string: "R1 a 0 1k", new_string: "R1 a 0 2k" }] },
            },
          ],
        },
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
    expect(systemOf(0).indexOf("## Current circuit")).toBeLessThan(systemOf(0).indexOf("Circuit file: amp.cir"));
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

  it("knows what tools have changed just now (CTX-11)", async () => {
    const edits = [{ old_string: "none", new_string: "R7 is hot" }];
    const change = { name: "edit_file", arguments: { path: "notes.md", edits } };
    app = await startWorkflow({
      files: { "amp.cir": "Amplifier\nR7 a 0 1k\n", "a.md": "R7 is small\n", "notes.md": "none\n" },
      script: [{ toolCalls: [change] }, { text: "Done." }, { text: "Yes." }],
    });
    app.services.operations = await createTestOperations("session-1");
    app.services.changedFiles = createChangedFiles();
    await app.update({ circuit_file_path: "amp.cir" });
    await app.send("note it", { mode: "free_work" });
    expect(await app.interrupts()).toEqual([]);
    await app.send("how is R7", { mode: "free_work" });
    expect(app.services.changedFiles.recent(Date.now())).toEqual(["notes.md"]);
    expect(systemOf(2)).toContain("## Found in the workspace\n\nnotes.md:1: R7 is hot\na.md:1: R7 is small");
  });

  it("also lists other files that mention what the request names (CTX-09)", async () => {
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

  it("shows the last error once, even if the circuit cannot be read", async () => {
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
});
