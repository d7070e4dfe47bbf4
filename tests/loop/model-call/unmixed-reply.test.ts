import { isAIMessage, isToolMessage } from "@langchain/core/messages";
import { afterEach, expect, it } from "vitest";
import { deepseek } from "../../models/text-calls/replies.ts";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

const call = deepseek.all(deepseek.short("read_file", '{"path": "notes.txt"}'));

it.each([true, false])(
  "runs calls that a server has left in the words, and shows neither them nor thoughts as words, streamed: %s",
  async (stream) => {
    const pieces = `<think>I have to look.</think>Let me look.\n${call}`.match(/.{1,7}/gsu) ?? [];
    running = await startWorkflow({
      stream,
      files: { "notes.txt": "4\n" },
      script: [{ chunks: pieces, text: pieces.join("") }, { text: "<think>Four.</think>It says 4." }],
    });
    running.services.defaultModel = "openai:deepseek-v3";
    const { messages } = await running.send("What does notes.txt say?", { mode: "free_work" });
    expect(messages.map((message) => [message.getType(), message.text.trim()])).toEqual([
      ["human", "What does notes.txt say?"],
      ["ai", "Let me look."],
      ["tool", expect.stringContaining("4")],
      ["ai", "It says 4."],
    ]);
    expect(messages.filter(isToolMessage).map(({ status }) => status)).not.toContain("error");
    const thoughts = messages
      .filter(isAIMessage)
      .map(({ additional_kwargs: { reasoning_content } }) => reasoning_content);
    expect(thoughts).toEqual(["I have to look.", "Four."]);
    const words = [...running.streamed.values()].join("");
    if (stream) expect(words).toContain("It says 4.");
    expect(words).not.toMatch(/think|tool▁|Four\./u);
    running.model.assertFinished();
  },
);
