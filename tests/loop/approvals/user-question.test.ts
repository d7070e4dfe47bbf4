import { isToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import type { ModelStep } from "@millrace/testing/model-server";
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

const free = { mode: "free_work" };
const asks: ModelStep = {
  toolCalls: [
    {
      name: "ask_followup_question",
      arguments: { question: "Which report?", options: ["May", "June"] },
      id: "which",
    },
  ],
};
const plans: ModelStep = {
  toolCalls: [{ name: "plan_mode_respond", arguments: { response: "1. Read\n2. Write" }, id: "plan" }],
};

describe("ask_followup_question", () => {
  it("pauses the run, and the answer is its result", async () => {
    const flow = await start({ script: [asks, { text: "June it is." }] });
    await flow.send("Print the report", free);
    expect(await flow.interrupts()).toEqual([
      {
        id: expect.any(String),
        value: {
          kind: "followup",
          question: "Which report?",
          options: ["May", "June"],
          tool_call_id: "which",
          tool: "ask_followup_question",
        },
      },
    ]);
    const { messages } = await flow.answer("June");
    expect(messages.find(isToolMessage)).toMatchObject({ tool_call_id: "which", status: "success" });
    expect(messages.find(isToolMessage)?.text).toBe("The user answered: June");
    expect(messages.at(-1)?.text).toBe("June it is.");
    flow.model.assertFinished();
  });

  it("goes on without an answer when the user gives none, and is not asked again", async () => {
    const flow = await start({ script: [asks, { text: "I take the newest one." }] });
    await flow.send("Print the report", free);
    const { messages } = await flow.answer({ type: "reject", message: "I do not know" });
    expect(messages.find(isToolMessage)?.text).toMatch(/gave no answer.*I do not know.*assumption/u);
    expect(messages.at(-1)?.text).toBe("I take the newest one.");
  });

  it("asks again after an answer that cannot be read, and says what it expected", async () => {
    const flow = await start({ script: [asks, { text: "June it is." }] });
    await flow.send("Print the report", free);
    await flow.answer({ what: "ever" });
    expect((await flow.interrupts())[0]?.value).toMatchObject({ problem: expect.stringContaining("Expected") });
    const { messages } = await flow.answer({ type: "respond", text: "June" });
    expect(messages.at(-1)?.text).toBe("June it is.");
  });

  it("does not hold up the other calls of its reply, which are run once", async () => {
    const both: ModelStep = {
      toolCalls: [{ name: "create_file", arguments: { path: "print.txt", content: "" } }, ...(asks.toolCalls ?? [])],
    };
    const flow = await start({ script: [both, { text: "Both done." }] });
    await flow.send("Print the report", free);
    await flow.answer("June");
    const { messages } = await flow.state();
    expect(messages.filter(isToolMessage).map(({ name, status }) => [name, status])).toContainEqual([
      "create_file",
      "success",
    ]);
  });
});

describe("plan_mode_respond", () => {
  it.each([
    [{ type: "approve" }, /agrees with the plan/u],
    [true, /agrees with the plan/u],
    [{ type: "respond", text: "Write first" }, /answered: Write first/u],
    [{ type: "reject", message: "not now" }, /does not want this plan.*not now/u],
  ])("pauses for a review of the plan; %j is sent to the model", async (answer, expected) => {
    const flow = await start({ script: [plans, { text: "Understood." }] });
    await flow.send("Show me a plan first", free);
    expect((await flow.interrupts())[0]?.value).toMatchObject({ kind: "plan_review", question: "1. Read\n2. Write" });
    const { messages } = await flow.answer(answer);
    expect(messages.find(isToolMessage)?.text).toMatch(expected);
    expect(messages.at(-1)?.text).toBe("Understood.");
  });
});
