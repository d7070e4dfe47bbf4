import { isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import type { Run } from "@millrace/engine/storage/records";
import type { ModelStep } from "@millrace/testing/model-server";
import { createHarness, createGate, gatedGraph, never, request } from "./fixtures.ts";
import { startStopBench, type Reader, type StopBench } from "./stop/stop-bench.ts";

let bench: StopBench | undefined;
afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

const creates: ModelStep = { toolCalls: [{ name: "add_item", arguments: { title: "first" }, id: "first" }] };
const hangs: ModelStep = { fault: { kind: "hang" } };
const free = { context: { mode: "free_work" } };
/** Ends the time of a run at this very moment, as its timer does. */
const endTime = ({ runs }: StopBench, { run_id }: Run) =>
  runs.cancel(run_id, { action: "interrupt", reason: "timeout", wait: true });
const kinds = (messages: readonly BaseMessage[]) => messages.map((message) => message.getType());
const eventOf = (reader: Reader, type: string) => reader.custom().find((event) => event.type === type);

describe("a run whose time is over (STOP-02, LOOP-02)", () => {
  it.each([
    ["Add a task", /time for one turn is used up.*What was done so far.*add_item/su],
    ["添加一个任务", /时间已用完.*目前已完成.*add_item/su],
  ])("is stopped, and ends with words that say why and what was done: %s", async (asked, says) => {
    bench = await startStopBench({ script: [creates, hangs] });
    const { model } = bench;
    const { run, reader } = await bench.start(asked, free);
    await expect.poll(() => model.requestCount).toBe(2);
    await endTime(bench, run);
    await reader.over;
    const ended = await bench.runs.get(run.run_id);
    expect(ended).toMatchObject({ status: "timeout", error: { error: "timeout" } });
    expect((await bench.storage.sessions.get(bench.session.session_id))?.status).toBe("idle");
    const { messages, next } = await bench.state();
    expect(next).toEqual([]);
    expect(kinds(messages)).toEqual(["human", "ai", "tool", "ai"]);
    expect(messages.at(-1)?.text).toMatch(says);
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("timeout");
    expect(repairToolPairs(messages)).toBe(messages);
    expect(eventOf(reader, "stop_requested")).toMatchObject({ stop_reason: "timeout" });
    expect(eventOf(reader, "stop_completed")).toMatchObject({ stop_reason: "timeout", tool_calls_executed: ["first"] });
    expect(reader.custom().at(-1)).toMatchObject({
      type: "conversation_state",
      state: "Completed",
      message_id: messages.at(-1)?.id,
    });
  });

  it("keeps the words that were streamed instead, where they are more than a few", async () => {
    const text = Array.from({ length: 40 }, (_, index) => `word${index}`).join(" ");
    const held = new Promise<never>(() => undefined);
    bench = await startStopBench({ script: [{ text, hold: { after: 30, until: held } }] });
    const { run, reader } = await bench.start("Tell me", free);
    await reader.until(() => [...reader.text().values()].some(({ content }) => content.endsWith("word29")));
    await endTime(bench, run);
    await reader.over;
    const { messages } = await bench.state();
    expect(kinds(messages)).toEqual(["human", "ai"]);
    expect(messages.at(-1)?.additional_kwargs).toMatchObject({ is_partial: true, stop_reason: "timeout" });
  });

  it("takes the next message, and says of a call that was under way that its end is not known", async () => {
    bench = await startStopBench({ script: [creates, { text: "I am back." }] });
    const gate = createGate();
    bench.gate.current = gate;
    const { run, reader } = await bench.start("Add a task", free);
    await gate.arrived;
    await endTime(bench, run);
    await reader.over;
    gate.open();
    bench.gate.current = undefined;
    const { messages } = await bench.state();
    expect(messages.find(isToolMessage)?.text).toContain("not known");
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("timeout");
    expect((await bench.finish("And now?", { context: { mode: "free_work" } })).status).toBe("success");
  });
});

describe("the time of any graph's run", () => {
  it("is what its config says, and none at all is refused", async () => {
    const gate = createGate();
    const { runs, session } = await createHarness({ gated: gatedGraph(gate) });
    const run = await runs.start(session, request("gated", { config: { timeout: 20 } }));
    expect(await runs.wait(run.run_id, never)).toMatchObject({ status: "timeout", error: { error: "timeout" } });
    await expect(runs.start(session, request("gated", { config: { timeout: 0 } }))).rejects.toMatchObject({
      code: "invalid_parameter",
    });
    await runs.drain(0);
  });
});
