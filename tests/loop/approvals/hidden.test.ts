import { isToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { wireText, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../support/workflow.ts";
import { compress } from "../../../src/prompts/templates/compress.ts";
import { hasPrompt } from "../../support/system-text.ts";

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
const call = (name: string, args: Record<string, unknown>): ModelStep => ({ toolCalls: [{ name, arguments: args }] });

describe("a result that is too long", () => {
  it("keeps its beginning and its end, and the model reads the middle again", async () => {
    const lines = Array.from({ length: 3000 }, (_, at) => `line ${at}`);
    const flow = await start({
      files: { "big.txt": lines.join("\n") },
      handler: ({ index, messages }) => {
        if (index === 0) return call("search_content", { path: ".", regex: "line" });
        const last = wireText(messages.at(-1) ?? { role: "none" });
        const id = /result_id "([^"]+)"/u.exec(last)?.[1];
        if (index === 1) return call("read_history", { result_id: id, offset: 2000 });
        return { text: "Read." };
      },
    });
    const { messages } = await flow.send("Look at big.txt", { ...free, limits: { tool_result_max_length: 1500 } });
    const [cut, rest] = messages.filter(isToolMessage);
    expect(cut?.text).toMatch(/\[… cut: \d+ of \d+ characters are not shown; read_history with result_id/u);
    expect(cut?.text.length).toBeLessThan(1800);
    expect(cut?.additional_kwargs["whole_result"]).toMatchObject({ characters: expect.any(Number) });
    expect(rest).toMatchObject({ name: "read_history", status: "success" });
    expect(rest?.text).toMatch(/^Characters 2000 to \d+ of \d+/u);
    const offered = flow.model.requests.map(({ toolNames }) => toolNames.includes("read_history"));
    // The list stays the same within the turn; what the result names may be called all the same.
    expect(offered).toEqual([false, false, false]);
    await flow.send("And now?", free);
    expect(flow.model.requests.at(-1)?.toolNames).toContain("read_history");
  });

  it("is cut without a word about the tool where the run has not got it", async () => {
    const flow = await start({
      files: { big: "x".repeat(9000) },
      script: [call("search_content", { path: ".", regex: "x" }), { text: "Read." }],
    });
    const { messages } = await flow.send("Look at big", {
      ...free,
      tools: ["search_content"],
      limits: { tool_result_max_length: 100 },
    });
    const text = messages.find(isToolMessage)?.text ?? "";
    expect(text).toContain("characters are not shown]");
    expect(flow.model.requests.flatMap(({ toolNames }) => toolNames)).not.toContain("read_history");
  });
});

describe("a conversation of which a part is not shown", () => {
  it("is read again by the model, whatever the summary has left out", async () => {
    const flow = await start({
      handler: ({ messages, toolNames }) => {
        const texts = messages.map(wireText);
        if (texts.some((text) => hasPrompt(text, compress))) return { text: '{"goal": "talk"}' };
        const last = texts.at(-1) ?? "";
        if (last.includes("Which colour")) {
          expect(texts.join("\n")).not.toContain("cobalt");
          expect(toolNames).toContain("read_history");
          return call("read_history", { query: "door colour" });
        }
        return { text: last.includes("cobalt") && toolNames.includes("read_history") ? "It is cobalt." : "Fine." };
      },
    });
    await flow.send("Note: the colour of the door is cobalt", free);
    expect(flow.model.requests[0]?.toolNames).not.toContain("read_history");
    for (let turn = 0; turn < 8; turn += 1) await flow.send(`Go on with part ${turn}`, free);
    const { messages } = await flow.send("Which colour?", { ...free, compress: { keep_recent: 5 } });
    expect(messages.at(-1)?.text).toBe("It is cobalt.");
  });
});
