import { isToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { wireText, type ModelStep, mayCall } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

const calls = (name: string, args: Record<string, unknown>): ModelStep => ({ toolCalls: [{ name, arguments: args }] });
const reads = (path: string): ModelStep => calls("read_file", { path });

describe("the rules against loops, in the loop", () => {
  it("report two failures to the model, block the third with what to do instead, and let the next call through", async () => {
    const flow = await start({
      files: { b: "beta" },
      script: [reads("a"), reads("a"), reads("a"), reads("b"), { text: "b says beta, a is not there." }],
    });
    const { messages } = await flow.send("What do the files a and b say?");
    const lastMessages = flow.model.requests.map((request) => wireText(request.messages.at(-1) ?? { role: "none" }));
    expect(lastMessages[1]).not.toContain("has failed");
    expect(lastMessages[2]).toContain("Note: read_file on a has failed 2 times");
    const results = messages.filter(isToolMessage);
    expect(results[1]?.text).not.toContain('"blocked":true');
    const { blocked, reason, suggestions } = JSON.parse(/\{.*\}/su.exec(results[2]?.text ?? "")?.[0] ?? "{}");
    expect(blocked).toBe(true);
    expect(reason).toContain("has failed 2 times");
    expect(suggestions.join("\n")).toMatch(/Read the current content[\s\S]*rewrite it as a whole[\s\S]*path is right/u);
    expect(results[3]?.text).toContain("beta");
    expect(lastMessages[4]).not.toContain("has failed 2 times with");
    flow.model.assertFinished();
  });

  it("end the turn with an answer when the model goes on regardless, and keep what was done", async () => {
    const flow = await start({
      files: { a: "alpha" },
      handler: (request) => (mayCall(request) ? reads("a") : { text: "It says alpha." }),
    });
    const lines: unknown[] = [];
    flow.services.logger = createLogger("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
    const { messages } = await flow.send("What does a say?");
    expect(messages.at(-1)?.text).toContain("It says alpha.");
    const results = messages.filter(isToolMessage).map((message) => message.text.includes('"blocked":true'));
    expect(results).toEqual([false, false, false, false, true, true]);
    expect(flow.events).toContainEqual(
      expect.objectContaining({ type: "loop_detected", rule: "repeated_call", stage: "finish" }),
    );
    // Each stage once (GUARD-09).
    expect(lines.filter((line) => /"repeated_call".*"loop_detected"/u.test(JSON.stringify(line)))).toMatchObject(
      ["warn", "block", "finish"].map((stage) => ({ stage, session_id: "session-1", run_id: "run-1" })),
    );
  });

  it("start anew with every turn", async () => {
    const flow = await start({
      script: [reads("a"), reads("a"), { text: "No a." }, reads("a"), { text: "Still no a." }],
    });
    await flow.send("What does a say?");
    const { messages } = await flow.send("And now?");
    expect(messages.filter(isToolMessage).every((message) => !message.text.includes('"blocked":true'))).toBe(true);
    flow.model.assertFinished();
  });

  it("say nothing to work that moves on", async () => {
    const write = (version: number): ModelStep => calls("update_file", { path: "a", content: `version ${version}` });
    const script = [1, 2, 3, 4].flatMap((version) => [reads("a"), write(version)]);
    const flow = await start({ files: { a: "version 0" }, script: [...script, { text: "Done." }] });
    const { messages } = await flow.send("Improve a step by step.");
    expect(messages.at(-1)?.text).toBe("Done.");
    expect(flow.events.filter(({ type }) => type === "loop_detected")).toEqual([]);
    flow.model.assertFinished();
  });
});

describe("a model that keeps inventing tools", () => {
  const invents: Record<string, (index: number) => ModelStep> = {
    "the same one": () => calls("fly", { to: "moon" }),
    "one with other arguments each time": (index) => calls("fly", { to: `moon ${index}` }),
    "another one each time": (index) => calls(`fly_${index}`, { to: `place ${index}` }),
    "another one each time, with words before it": (index) => ({ text: "Let me see.", ...calls(`fly_${index}`, {}) }),
  };
  const settings = [
    ["in a chat, which has no tools", { chat_mode: "chat" }],
    ["where tools are offered", { mode: "free_work" }],
  ] as const;
  it.each(
    settings.flatMap(([where, context]) =>
      Object.entries(invents).map(([name, step]) => ({ name: `${name}, ${where}`, context, step })),
    ),
  )("is stopped by the rules after four replies: $name", async ({ context, step }) => {
    const flow = await start({ handler: ({ index }) => step(index) });
    const { messages } = await flow.send("Look at it", context);
    // One more, in which it is asked to answer without tools.
    expect(flow.model.requests).toHaveLength(5);
    const lastMessages = flow.model.requests.map((request) => wireText(request.messages.at(-1) ?? { role: "none" }));
    expect(lastMessages[2]).toContain("Note: ");
    expect(lastMessages[4]).toContain("No further tool call is possible");
    expect(messages.at(-1)?.text).toContain("going round in circles");
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("guardrail");
    expect(flow.events).toContainEqual(expect.objectContaining({ type: "loop_detected", stage: "finish" }));
  });
});
