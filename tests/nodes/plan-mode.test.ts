import { existsSync } from "node:fs";
import { join } from "node:path";
import { isToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { planningTools } from "../../src/nodes/plan-mode.ts";
import { tools } from "../../src/tools/index.ts";
import { wireText, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../support/workflow.ts";
import { hasPrompt } from "../support/system-text.ts";
import { planMode } from "../../src/prompts/templates/plan-mode.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow({ files: { "notes.md": "seven lines" }, ...options });
  return running;
}

const shows: ModelStep = {
  toolCalls: [{ name: "plan_mode_respond", arguments: { response: "1. Read the notes\n2. Write out.md" } }],
};
const creates: ModelStep = { toolCalls: [{ name: "create_file", arguments: { path: "out.md", content: "x" } }] };
const plan = { chat_mode: "plan" };
const long = "Read notes.md, compare it with the others, then summarize them and save the result in out.md";

describe("plan mode (DECOMP-04)", () => {
  it("offers what changes nothing and shows a plan, whatever is asked for", async () => {
    const flow = await start({ script: [{ text: "I would read the notes first." }] });
    const { route, task_plan } = await flow.send(long, plan);
    expect([route, task_plan]).toEqual(["free_work", null]);
    const offered = flow.model.requests[0]?.toolNames ?? [];
    expect(offered).toEqual(expect.arrayContaining(["read_file", "plan_mode_respond", "ask_followup_question"]));
    const changing = Object.values(tools).filter(({ effect }) => effect !== "pure");
    expect(changing.length).toBeGreaterThan(5);
    for (const { name } of [...changing, tools.attempt_completion]) expect(offered).not.toContain(name);
    expect(hasPrompt(wireText(flow.model.requests[0]?.messages[0] ?? { role: "none" }), planMode)).toBe(true);
  });

  it("carries out no call that would change something", async () => {
    const flow = await start({ script: [creates, { text: "I cannot." }] });
    const { messages } = await flow.send("Write out.md", { ...plan, selected_tool: "create_file" });
    expect(messages.find(isToolMessage)?.text).toContain("tool_not_found");
    expect(existsSync(join(flow.workspace, "out.md"))).toBe(false);
  });

  it("lasts until the user switches to acting: a plan that they agree with is not carried out before", async () => {
    const flow = await start({
      script: [
        shows,
        { text: "It is done once you switch to acting." },
        { text: "Still planning." },
        creates,
        { text: "Done." },
      ],
    });
    await flow.send(long, plan);
    expect((await flow.interrupts())[0]?.value).toMatchObject({ kind: "plan_review" });
    const { messages } = await flow.answer({ type: "approve" });
    expect(messages.find(isToolMessage)?.text).toMatch(
      /agrees with the plan\. Nothing can be carried out in plan mode/u,
    );
    await flow.send("And the second step?");
    expect(flow.model.requests.at(-1)?.toolNames).not.toContain("create_file");
    await flow.send("Do it", { chat_mode: "agent", mode: "free_work" });
    expect(existsSync(join(flow.workspace, "out.md"))).toBe(true);
  });

  it("may be left with the answer to the plan", async () => {
    const flow = await start({ script: [shows, creates, { text: "Done." }] });
    await flow.send(long, plan);
    const state = await flow.answer({ type: "approve" }, { chat_mode: "agent" });
    expect(state.messages.find(isToolMessage)?.text).toContain("Carry it out now");
    expect(existsSync(join(flow.workspace, "out.md"))).toBe(true);
    expect(state.chat_mode).toBe("agent");
  });

  it("adds the tool that shows the plan where a run names others, and none where there are none", () => {
    const names = (given: Parameters<typeof planningTools>[0]) => planningTools(given).map(({ name }) => name);
    expect(names([tools.read_file, tools.delete_file])).toEqual(["read_file", "plan_mode_respond"]);
    expect(names([tools.plan_mode_respond])).toEqual(["plan_mode_respond"]);
    expect(names([])).toEqual([]);
  });
});
