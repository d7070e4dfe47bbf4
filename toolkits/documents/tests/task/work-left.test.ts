import { isAIMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { wireText, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../../../tests/support/workflow.ts";

let flow: TestWorkflow | undefined;
afterEach(async () => flow?.close());
const start = async (options: TestWorkflowOptions): Promise<TestWorkflow> => (flow = await startWorkflow(options));

describe("work that is left", () => {
  const moves = (source: string, destination: string): ModelStep => ({
    toolCalls: [{ name: "move_file", arguments: { source, destination } }],
  });
  const lists: ModelStep = { toolCalls: [{ name: "list_files", arguments: { path: "in" } }] };

  it("is asked for, with its own prompt, and the turn goes on", async () => {
    const flow = await start({
      files: { "in/a.txt": "a", "in/b.txt": "b" },
      script: [
        lists,
        moves("in/a.txt", "out/a.txt"),
        { text: "I have moved a.txt." },
        moves("in/b.txt", "out/b.txt"),
        { text: "Summary: both files have been moved from the folder in to the folder out. Done." },
      ],
    });
    const { messages } = await flow.send("Move all files from in to out", { mode: "free_work", profile: "document" });
    expect(flow.events).toContainEqual({ type: "forced_continuation", kind: "file_move", count: 1 });
    expect(flow.model.requests.map(({ messages: sent }) => wireText(sent.at(-1) ?? { role: "none" }))[3]).toContain(
      "move_file",
    );
    expect(messages.filter(isAIMessage).map(({ additional_kwargs }) => additional_kwargs["forced_by"])).toEqual([
      undefined,
      undefined,
      undefined,
      "file_move",
      undefined,
    ]);
    expect(messages.at(-1)?.text).toContain("both files");
    expect(flow.events).toContainEqual(expect.objectContaining({ type: "task_progress", task: "file_move" }));
    flow.model.assertFinished();
  });

  it("ends after five forced rounds, with a message to the user", async () => {
    const flow = await start({
      files: { "in/a.txt": "a", "in/b.txt": "b" },
      handler: ({ index }) =>
        index === 0
          ? lists
          : index === 1
            ? moves("in/a.txt", "out/a.txt")
            : { text: `I have moved a.txt, part ${index}.` },
    });
    const { messages } = await flow.send("Move all files from in to out", { mode: "free_work", profile: "document" });
    expect(flow.model.requests).toHaveLength(8);
    expect(messages.at(-1)?.text).toContain("stopped here");
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("guardrail");
    // Some providers refuse two replies without words of a user between them.
    for (const { messages } of flow.model.requests) {
      const roles = messages.map(({ role }) => role);
      expect(roles.some((role, index) => role === "assistant" && roles[index + 1] === "assistant")).toBe(false);
    }
  });
});
