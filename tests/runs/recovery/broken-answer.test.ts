import { afterEach, describe, expect, it } from "vitest";
import { countText } from "../../../src/context/tokens/tokens.ts";
import { wireText, type ModelStep } from "@millrace/testing/model-server";
import { startStopBench, type Reader, type StopBench } from "../stop/stop-bench.ts";

let bench: StopBench | undefined;
afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

const text = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
const held = new Promise<never>(() => undefined);
const free = { context: { mode: "free_work" } };
const received = (reader: Reader): string => [...reader.text().values()].map(({ content }) => content).join("");

describe("an answer that the provider breaks off (ERR-16)", () => {
  const cases: [string, ModelStep, object, string][] = [
    ["before its end", { text, fault: { kind: "cut", after: 30 } }, free, "error"],
    [
      "and goes on with only when its time is over",
      { text, hold: { after: 30, until: held } },
      { context: { ...free.context, limits: { timeout_seconds: 0.001 } } },
      "timeout",
    ],
  ];
  it.each(cases)("%s is kept as readers saw it, with the reason", async (_, step, patch, reason) => {
    bench = await startStopBench({ script: [step] });
    const { run, reader } = await bench.start("Count the words", patch);
    await reader.over;
    expect(received(reader).length).toBeGreaterThan(50);
    expect((await bench.runs.get(run.run_id))?.status).toBe("success");
    const { messages } = await bench.state();
    expect(messages.map((message) => message.getType())).toEqual(["human", "ai"]);
    expect(messages[1]?.text).toBe(received(reader));
    expect(messages[1]?.id).toBe([...reader.text().keys()][0]);
    expect(messages[1]?.additional_kwargs).toMatchObject({
      is_partial: true,
      stop_reason: reason,
      end_reason: reason,
      tokens_generated: countText(received(reader)),
    });
    expect(reader.custom().some(({ type }) => type === "agentic_loop.error")).toBe(true);
    expect(reader.custom().find(({ type }) => type === "agentic_loop.complete")).toMatchObject({ end_reason: reason });
  });

  it("in its thoughts is kept with them, and more time is advised (LLM-06)", async () => {
    bench = await startStopBench({ script: [{ reasoning: text, text: "No.", hold: { after: 30, until: held } }] });
    const { reader } = await bench.start("Count the words", {
      context: { ...free.context, limits: { timeout_seconds: 0.001 } },
    });
    await reader.over;
    const streamedReasoning = [...reader.text().values()].map(({ reasoning }) => reasoning).join("");
    expect(streamedReasoning.length).toBeGreaterThan(50);
    const { messages } = await bench.state();
    expect(messages[1]?.text).toBe("");
    expect(messages[1]?.additional_kwargs).toMatchObject({
      reasoning_content: streamedReasoning,
      is_partial: true,
      stop_reason: "timeout",
    });
    expect(reader.custom().find(({ type }) => type === "agentic_loop.error")).toMatchObject({
      error_type: "timeout",
      suggestion: expect.stringMatching(/^Allow turns more time.*without thinking/u),
    });
  });

  it.each([
    ["Skip", "error", "error"],
    ["Cancel", "user_requested", "cancelled"],
  ])("is kept too when a person was asked and says %s", async (option, stop_reason, end_reason) => {
    const context = { ...free.context, on_error: "ask" };
    bench = await startStopBench({ script: [{ text, fault: { kind: "cut", after: 30 } }] });
    const { reader } = await bench.start("Count the words", { context });
    await reader.over;
    expect((await bench.state()).messages).toHaveLength(1);
    await bench.finish("", { context, input: undefined, command: { resume: option } });
    const { messages } = await bench.state();
    expect(messages.map((message) => message.getType())).toEqual(["human", "ai"]);
    expect(received(reader).length).toBeGreaterThan(50);
    expect(messages[1]?.text).toBe(received(reader));
    expect(messages[1]?.id).toBe([...reader.text().keys()][0]);
    expect(messages[1]?.additional_kwargs).toMatchObject({ is_partial: true, stop_reason, end_reason });
  });

  it("is kept when the person who was asked says something else", async () => {
    const context = { ...free.context, on_error: "ask" };
    bench = await startStopBench({ script: [{ text, fault: { kind: "cut", after: 30 } }, { text: "Yes?" }] });
    const { reader } = await bench.start("Count the words", { context });
    await reader.over;
    await bench.finish("Never mind", { context });
    const { messages } = await bench.state();
    expect(messages.map((message) => message.text)).toEqual([
      "Count the words",
      received(reader),
      "Never mind",
      "Yes?",
    ]);
    expect(messages[1]?.additional_kwargs).toMatchObject({ is_partial: true });
    expect(bench.model.requests[1]?.messages.map(wireText).join("\n")).toContain(received(reader));
  });

  it("gives way to the answer that another try brings", async () => {
    const context = { ...free.context, on_error: "ask" };
    bench = await startStopBench({ script: [{ text, fault: { kind: "cut", after: 30 } }, { text: "All forty." }] });
    await (
      await bench.start("Count the words", { context })
    ).reader.over;
    await bench.finish("", { context, input: undefined, command: { resume: "Retry" } });
    expect((await bench.state()).messages.map((message) => message.text)).toEqual(["Count the words", "All forty."]);
  });

  it("can be gone on with, as a stopped one can (STOP-09)", async () => {
    bench = await startStopBench({ script: [{ text, fault: { kind: "cut", after: 30 } }] });
    await (
      await bench.start("Count the words", free)
    ).reader.over;
    const begun = (await bench.state()).messages[1]?.text ?? "";
    bench.model.push({ text: " and the rest." });
    const run = await bench.finish("", { context: { partial: "continue" } });
    expect(run.status).toBe("success");
    const { messages } = await bench.state();
    expect(messages).toHaveLength(2);
    expect(messages[1]?.text.startsWith(begun)).toBe(true);
    expect(messages[1]?.text.endsWith("and the rest.")).toBe(true);
    expect(messages[1]?.additional_kwargs["is_partial"]).toBe(false);
  });

  it("fails the run where only a few words had come: those are worth no message (STOP-08)", async () => {
    bench = await startStopBench({ script: [{ text, fault: { kind: "cut", after: 3 } }] });
    expect((await bench.finish("Count the words", free)).status).toBe("error");
    expect((await bench.state()).messages.map((message) => message.getType())).toEqual(["human"]);
  });
});
