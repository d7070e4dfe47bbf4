import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createLogger } from "@millrace/engine/logger";
import { runLoop } from "../../../src/loop/loop.ts";
import { servicesKey } from "../../../src/loop/services.ts";
import { LoopLimits } from "../../../src/state.ts";
import { success } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";

let app: TestWorkflow;
afterEach(() => app.close());

const checks = (): object[] => app.events.filter(({ type }) => type === "context_check");

describe("the checks around model calls (CTX-20)", () => {
  it("report nothing in a usual turn with tools", async () => {
    app = await startWorkflow({
      files: { "a.txt": "words" },
      script: [{ toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] }, { text: "It says words." }],
    });
    await app.send("read a.txt", { mode: "free_work" });
    expect(checks()).toEqual([]);
  });

  it("warn once when the window is nearly full, and report an error when what cannot be left out is too much", async () => {
    app = await startWorkflow({ contextLimit: 8000, handler: () => ({ text: "Yes." }) });
    await app.send("look", { mode: "free_work" });
    expect(checks()).toEqual([]);
    const used = app.events.find((event) => event.type === "context_usage")?.tokens ?? 0;
    await app.send("word".repeat(7600 - used), { mode: "free_work", compress: false });
    expect(checks()).toHaveLength(1);
    expect(checks()[0]).toMatchObject({ moment: "before_call", severity: "error" });
    expect(app.model.requests).toHaveLength(2);
  });

  it("report the start, the system text and the end of a turn, with a line in the log", async () => {
    const mute = defineTool({
      name: "mute",
      description: " ",
      schema: z.object({}),
      effect: "pure",
      inTurn: { resultMode: "show" },
      run: async () => success(""),
    });
    app = await startWorkflow({ script: [{ toolCalls: [{ name: "mute", arguments: {} }] }] });
    const lines: unknown[] = [];
    app.services.logger = createLogger("info", { write: (line: string) => void lines.push(JSON.parse(line)) });
    app.services.addedTools = [mute];
    const references = [{ type: "file", source: "long.txt", content: "word ".repeat(25_000) }];
    await app.send("look", { mode: "free_work", references });
    const found = [
      { moment: "start", severity: "warning", problem: "no description: mute" },
      { moment: "system_prompt", severity: "warning", problem: expect.stringMatching(/3\d{4} tokens; 30000 are/u) },
      { moment: "end", severity: "error", problem: "the turn does not end with words of the assistant" },
    ];
    expect(checks()).toMatchObject(found);
    expect(lines.filter((line) => JSON.stringify(line).includes('"context_check"'))).toMatchObject(found);
  });

  it("look at the messages as they are sent", async () => {
    app = await startWorkflow({ script: [{ text: "Hello." }] });
    const { services, events } = app;
    const request = {
      node: "free_work",
      system: "You are a test.",
      history: [new HumanMessage("Hi"), new AIMessage("Hello")],
      summary: null,
      tools: [],
      limits: LoopLimits.parse({}),
      model: "openai:scripted",
      requiresConfirm: false,
      silent: false,
    };
    const onEvent = (event: (typeof events)[number]): void => void events.push(event);
    await runLoop(request, { configurable: { thread_id: "session-1", [servicesKey]: { ...services, onEvent } } });
    expect(checks()).toMatchObject([
      { moment: "before_call", severity: "error", problem: "the last message is neither of the user nor of a tool" },
    ]);
  });
});
