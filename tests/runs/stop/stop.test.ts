import { AIMessageChunk, isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import { wire } from "../../models/vendors/vendor-model.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import { createGate } from "../fixtures.ts";
import { startStopBench, type Reader, type StopBench } from "./stop-bench.ts";

let bench: StopBench | undefined;
afterEach(async () => {
  bench?.gate.current?.open();
  await bench?.close();
  bench = undefined;
});

async function open(...options: Parameters<typeof startStopBench>): Promise<StopBench> {
  bench = await startStopBench(...options);
  return bench;
}

const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index}`).join(" ");
const never = new Promise<never>(() => undefined);
const asked = "What is in the notes?";
const kinds = (messages: readonly BaseMessage[]) => messages.map((message) => message.getType());
const received = (reader: Reader) =>
  [...reader.text().values()].map(({ content, reasoning }) => reasoning + content).join("");
const stopEvent = (reader: Reader) => reader.custom().find((event) => event.type === "stop_completed");

/** Everything that must hold after any stop: valid, over, idle, and the next message works with a strict provider. */
async function expectUsable(flow: StopBench): Promise<void> {
  const { messages, next } = await flow.state();
  expect(next).toEqual([]);
  expect(repairToolPairs(messages)).toBe(messages);
  expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
  expect((await flow.storage.sessions.get(flow.session.session_id))?.status).toBe("idle");
  const before = flow.effects.length;
  flow.model.push({ text: "I am still here." });
  const run = await flow.finish("hello again, my friend");
  expect(run.status).toBe("success");
  const after = (await flow.state()).messages;
  expect(after.slice(0, messages.length).map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
  expect(kinds(after.slice(messages.length))).toEqual(["human", "ai"]);
  expect(after.at(-1)?.text).toBe("I am still here.");
  expect(flow.model.unexpected).toEqual([]);
  expect(flow.effects).toHaveLength(before);
}

/** The session ends with words that say that, and why, there is no reply. */
function expectStopped(messages: readonly BaseMessage[]): void {
  const last = messages.at(-1);
  expect(last !== undefined && isAIMessage(last)).toBe(true);
  expect(last?.text).toMatch(/^I was stopped\./u);
  expect(last?.additional_kwargs).toMatchObject({ end_reason: "cancelled", stop_reason: "user_requested" });
  expect(last?.additional_kwargs["is_partial"]).toBeUndefined();
}

describe("a stop in the middle of an answer", () => {
  const cases: [string, ModelStep, number][] = [
    ["before the first word", { text: words(40), hold: { after: 0, until: never } }, 0],
    ["after 3 words", { text: words(40), hold: { after: 3, until: never } }, 3],
    ["after 30 words", { text: words(40), hold: { after: 30, until: never } }, 30],
    ["before the last mark", { text: words(40), hold: { after: 40, until: never } }, 40],
    [
      "in wide characters",
      { chunks: ["电阻分压".repeat(12), "终端😀".repeat(3)], hold: { after: 2, until: never } },
      2,
    ],
    ["in the reasoning", { reasoning: words(20), text: "yes", hold: { after: 15, until: never } }, 15],
    ["in the text after reasoning", { reasoning: words(20), text: words(30), hold: { after: 45, until: never } }, 45],
    [
      "in a tool call after text",
      {
        text: words(20),
        toolCalls: [{ name: "list_files", arguments: {} }],
        hold: { after: 21, until: never },
      },
      20,
    ],
  ];
  it.each(cases)("keeps what readers saw, byte for byte: %s", async (_, step, pieces) => {
    const flow = await open({ script: [step] });
    const { run, reader } = await flow.start(asked);
    const texts = [
      ...(step.reasoning?.match(/\s*\S+\s*?/gu) ?? []),
      ...(step.chunks ?? step.text?.match(/\s*\S+/gu) ?? []),
    ];
    const wanted = texts.slice(0, pieces).join("");
    await reader.until(() => (pieces === 0 ? flow.model.requestCount === 1 : received(reader) === wanted));
    const ended = await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    await reader.over;
    expect(ended?.status).toBe("interrupted");

    const { messages } = await flow.state();
    const streamed = [...reader.text()].at(-1);
    const partial = messages.find((message) => message.additional_kwargs["is_partial"] === true);
    const event = stopEvent(reader);
    const isLong =
      streamed !== undefined && Math.max(Array.from(streamed[1].content).length, streamed[1].reasoning.length) > 50;
    expect(messages[0]?.text).toBe(asked);
    expect(kinds(messages)).toEqual(["human", "ai"]);
    if (!isLong) expectStopped(messages);
    else {
      expect(partial?.id).toBe(streamed[0]);
      expect(partial?.text).toBe(streamed[1].content);
      expect(partial?.additional_kwargs["reasoning_content"] ?? "").toBe(streamed[1].reasoning);
      expect(partial?.additional_kwargs).toMatchObject({ stop_reason: "user_requested", is_partial: true });
    }
    expect(event).toMatchObject({
      stop_reason: "user_requested",
      partial:
        streamed === undefined
          ? null
          : { content: streamed[1].content, reasoning_content: streamed[1].reasoning, is_stored: isLong },
    });
    expect(reader.custom().some(({ type }) => type === "stop_requested")).toBe(true);
    await expectUsable(flow);
  });
});

const creates = (...titles: string[]): ModelStep => ({
  toolCalls: titles.map((title) => ({ name: "add_item", arguments: { title }, id: title })),
});

describe("a stop around tools", () => {
  it("keeps of the turn no thoughts that only the vendor can read, since no request will have them", async () => {
    const flow = await open({
      script: [{ wire: wire("openai-sealed.sse") }, { text: words(40), hold: { after: 3, until: never } }],
    });
    const { run, reader } = await flow.start(asked, { context: { mode: "free_work", model: "openai:gpt-5-codex" } });
    await reader.until(() => received(reader).includes("word2"));
    expect(flow.model.requests[1]?.raw).toContain("gAAAAABo");
    await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    const { messages } = await flow.state();
    expect(kinds(messages).slice(0, 4)).toEqual(["human", "ai", "tool", "tool"]);
    expect(JSON.stringify(messages)).not.toContain("gAAAAABo");
  });

  it("reports a call that was being written as one that was not done", async () => {
    const toolCalls = [{ name: "list_files", arguments: {}, id: "written" }];
    const flow = await open({ script: [{ text: words(20), toolCalls, hold: { after: 21, until: never } }] });
    const { run, reader } = await flow.start(asked);
    const isWriting = ({ data }: { data?: unknown }): boolean =>
      data instanceof AIMessageChunk && (data.tool_call_chunks ?? []).length > 0;
    await reader.until(() => reader.events.some((event) => "data" in event && isWriting(event)));
    await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    await reader.over;
    expect(stopEvent(reader)).toMatchObject({ tool_calls_executed: [], tool_calls_pending: ["written"] });
    await expectUsable(flow);
  });

  it("keeps the finished results of the turn and the partial answer after them", async () => {
    const flow = await open({
      script: [creates("first"), creates("second"), { text: words(40), hold: { after: 30, until: never } }],
    });
    const { run, reader } = await flow.start("Add two tasks");
    await reader.until(() => received(reader).endsWith("word29"));
    await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    const { messages } = await flow.state();
    expect(kinds(messages)).toEqual(["human", "ai", "tool", "ai", "tool", "ai"]);
    expect(messages.filter(isToolMessage).every((message) => message.text.startsWith("Item added"))).toBe(true);
    expect(messages.at(-1)?.text).toBe(words(30));
    expect(stopEvent(reader)).toMatchObject({ tool_calls_executed: ["first", "second"], tool_calls_pending: [] });
    expect(flow.effects).toEqual(["first", "second"]);
    await expectUsable(flow);
  });

  it("keeps the result of the call that was done, says of the running one that it was cut off, and begins no other", async () => {
    const flow = await open({ script: [creates("first", "second", "third")] });
    const passed: string[] = [];
    const gate = createGate();
    // The first write passes; the second waits.
    const create = flow.effects;
    flow.gate.current = {
      ...gate,
      pass: async (signal) => {
        passed.push(create.at(-1) ?? "");
        if (passed.length > 1) await gate.pass(signal);
      },
    };
    const { run, reader } = await flow.start("Add tasks");
    await gate.arrived;
    await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    gate.open();
    await reader.over;
    const begun = [...flow.effects];
    expect(begun).toHaveLength(2);
    const { messages } = await flow.state();
    expect(kinds(messages)).toEqual(["human", "ai", "tool", "tool", "tool", "ai"]);
    expectStopped(messages);
    expect(messages.at(-1)?.text).toContain("add_item: Item added");
    const results = Object.fromEntries(messages.filter(isToolMessage).map((result) => [result.tool_call_id, result]));
    expect(results[begun[0] ?? ""]?.text).toContain("Item added");
    expect(results[begun[1] ?? ""]?.text).toContain("Whether it had an effect is not known");
    expect(messages.filter(isAIMessage)[0]?.tool_calls).toHaveLength(3);
    const skipped = ["first", "second", "third"].filter((id) => id !== begun[0]);
    expect(stopEvent(reader)).toMatchObject({
      tool_calls_executed: [begun[0]],
      tool_calls_pending: expect.arrayContaining(skipped),
    });
    await expectUsable(flow);
    expect(flow.effects).toEqual(begun);
  });
});

describe("a stop at any moment", () => {
  const script: ModelStep[] = [
    { text: words(20), ...creates("first") },
    { text: "The first task is there.", ...creates("second", "third") },
    { reasoning: words(25), text: words(40) },
  ];
  const wish = "Compare the two tasks, then summarize them and save the result";

  it("leaves a valid history, runs nothing again, and takes the next message", async () => {
    // What a test pushes comes first, so the rest of a stopped turn never answers the next message.
    const following = (steps: ModelStep[]) => ({ handler: () => steps.shift() ?? { text: "nothing more" } });
    const whole = await open(following([...script]));
    const { reader: all } = await whole.start(wish);
    await all.over;
    expect(whole.effects).toEqual(["first", "second", "third"]);
    const total = all.events.length;
    await whole.close();

    const times: number[] = [];
    const shapes = new Set<string>();
    for (let at = 1; at <= total; at += Math.ceil(total / 40)) {
      const flow = await open(following([...script]));
      const { run, reader } = await flow.start(wish);
      await reader.until(() => reader.events.length >= at);
      const effects = flow.effects.length;
      const began = performance.now();
      const ended = await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
      times.push(performance.now() - began);
      await reader.over;
      expect(flow.effects, `stopped at event ${at}`).toHaveLength(effects);
      const { messages } = await flow.state();
      shapes.add(kinds(messages).join(" "));
      expect(messages[0]?.text, `stopped at event ${at}`).toBe(wish);
      expect(messages.some((message) => message.text.includes('"goal"'))).toBe(false);
      for (const message of messages.filter(({ additional_kwargs }) => additional_kwargs["is_partial"] === true)) {
        const streamed = reader.text().get(message.id ?? "");
        expect(message.text).toBe(streamed?.content);
        expect(message.additional_kwargs["reasoning_content"] ?? "").toBe(streamed?.reasoning);
      }
      for (const title of flow.effects) {
        expect(messages.some((message) => isToolMessage(message) && message.tool_call_id === title)).toBe(true);
      }
      if (ended?.status === "interrupted") await expectUsable(flow);
      await flow.close();
    }
    times.sort((left, right) => left - right);
    process.stdout.write(
      `stops: ${times.length} over ${total} events, ${shapes.size} shapes of history, ` +
        `p50 ${times[Math.floor(times.length / 2)]?.toFixed(1)} ms, longest ${times.at(-1)?.toFixed(1)} ms\n`,
    );
  }, 90_000);
});

describe("a stop without an answer", () => {
  it("ends a run whose model never answers, and one whose tool ignores the stop", async () => {
    const isAsked = Promise.withResolvers<void>();
    const flow = await open({
      handler: () => {
        isAsked.resolve();
        return { fault: { kind: "hang" } };
      },
    });
    const first = await flow.start(asked);
    await isAsked.promise;
    expect((await flow.runs.cancel(first.run.run_id, { action: "interrupt", wait: true }))?.status).toBe("interrupted");
    flow.model.push(creates("stuck"));
    flow.gate.current = createGate();
    const second = await flow.start("Add a task");
    await flow.gate.current.arrived;
    expect((await flow.runs.cancel(second.run.run_id, { action: "interrupt", wait: true }))?.status).toBe(
      "interrupted",
    );
    expect(kinds((await flow.state()).messages)).toEqual(["human", "ai", "human", "ai", "tool", "ai"]);
    // The tool still holds its lock; the session does not need it.
    await expectUsable(flow);
  });

  it("leaves a queued run out of the session, and stops twice as once", async () => {
    const flow = await open({ script: [{ text: words(40), hold: { after: 30, until: never } }] });
    const first = await flow.start(asked);
    const queued = await flow.start("and another");
    await first.reader.until(() => received(first.reader).endsWith("word29"));
    expect((await flow.runs.cancel(queued.run.run_id, { action: "interrupt", wait: true }))?.status).toBe(
      "interrupted",
    );
    await queued.reader.over;
    expect(stopEvent(queued.reader)).toMatchObject({ partial: null });
    const [one, two] = await Promise.all([
      flow.runs.cancel(first.run.run_id, { action: "interrupt", wait: true }),
      flow.runs.cancel(first.run.run_id, { action: "interrupt", wait: true }),
    ]);
    expect([one?.status, two?.status]).toEqual(["interrupted", "interrupted"]);
    expect(first.reader.custom().filter(({ type }) => type === "stop_completed")).toHaveLength(1);
    expect(kinds((await flow.state()).messages)).toEqual(["human", "ai"]);
    await expectUsable(flow);
  });
});

describe("a question that is left open", () => {
  const files = { "old/a.txt": "a", "old/b.txt": "b", "notes.md": "seven lines" };
  const deletes: ModelStep = { toolCalls: [{ name: "delete_file", arguments: { path: "old" }, id: "gone" }] };
  const reads: ModelStep = { toolCalls: [{ name: "read_file", arguments: { path: "notes.md" }, id: "read" }] };

  it("stays in the session with what was done before it, when the user goes on with another message", async () => {
    const flow = await open({ files, script: [reads, deletes] });
    await flow.finish("Read the notes and tidy up");
    expect((await flow.storage.sessions.get(flow.session.session_id))?.status).toBe("interrupted");
    flow.model.push({ text: "As you like." });
    expect((await flow.finish("never mind, my friend")).status).toBe("success");
    const { messages } = await flow.state();
    expect(kinds(messages)).toEqual(["human", "ai", "tool", "ai", "tool", "human", "ai"]);
    expect(messages[2]?.text).toContain("seven lines");
    expect(messages[4]?.text).toContain("Not run");
    await expectUsable(flow);
  });

  it("is not asked again when the run that was to answer it is stopped", async () => {
    const flow = await open({
      files,
      script: [reads, deletes, { text: words(40), hold: { after: 30, until: never } }],
    });
    await flow.finish("Read the notes and tidy up");
    const { run, reader } = await flow.start("", { input: undefined, command: { resume: true } });
    await reader.until(() => received(reader).endsWith("word29"));
    await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    const { messages } = await flow.state();
    expect(kinds(messages)).toEqual(["human", "ai", "tool", "ai", "tool", "ai"]);
    expect(messages[4]?.text).toContain("Deleted");
    expect(messages.at(-1)?.text).toBe(words(30));
    await expectUsable(flow);
  });
});

describe("a partial reply", () => {
  const cut = async (): Promise<StopBench> => {
    const flow = await open({ script: [{ text: words(40), hold: { after: 30, until: never } }] });
    const { run, reader } = await flow.start(asked);
    await reader.until(() => received(reader).endsWith("word29"));
    await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    return flow;
  };

  it("is continued in its place, over a further stop, and is complete then", async () => {
    const flow = await cut();
    const { id } = (await flow.state()).messages[1] ?? {};
    flow.model.push({ text: ` and ${words(30)}`, hold: { after: 25, until: never } }, { text: " and the end." });
    const { run, reader } = await flow.start("", { context: { partial: "continue" } });
    await reader.until(() => received(reader).endsWith("word23"));
    await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    expect(kinds((await flow.state()).messages)).toEqual(["human", "ai", "ai"]);

    expect((await flow.finish("", { context: { partial: "continue" } })).status).toBe("success");
    const { messages } = await flow.state();
    expect(kinds(messages)).toEqual(["human", "ai"]);
    expect(messages[1]?.id).toBe(id);
    expect(messages[1]?.text).toBe(`${words(30)} and ${words(24)} and the end.`);
    expect(messages[1]?.additional_kwargs).toMatchObject({ is_partial: false, continued: true });
    await expectUsable(flow);
  });

  it("is removed and given anew", async () => {
    const flow = await cut();
    flow.model.push({ text: "Seven lines." });
    expect((await flow.finish("", { context: { partial: "regenerate" } })).status).toBe("success");
    expect(flow.model.requests.at(-1)?.messages.at(-1)?.content).toBe(asked);
    expect((await flow.state()).messages.map((message) => message.text)).toEqual([asked, "Seven lines."]);
    await expectUsable(flow);
  });

  it("that was not worth keeping leaves words that a new reply takes the place of", async () => {
    const flow = await open({ script: [{ text: words(40), hold: { after: 3, until: never } }] });
    const { run, reader } = await flow.start("数一数");
    await reader.until(() => received(reader).endsWith("word2"));
    await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    expect((await flow.state()).messages.map((message) => message.text)).toEqual(["数一数", "已被停止。"]);
    flow.model.push({ text: "一、二、三。" });
    expect((await flow.finish("", { context: { partial: "regenerate" } })).status).toBe("success");
    expect((await flow.state()).messages.map((message) => message.text)).toEqual(["数一数", "一、二、三。"]);
    await expectUsable(flow);
  });

  it("is given, too, by a run without a new message", async () => {
    const flow = await open({ script: [creates("first"), { text: words(40), hold: { after: 3, until: never } }] });
    const { run, reader } = await flow.start("Add a task");
    await reader.until(() => received(reader).endsWith("word2"));
    await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    expectStopped((await flow.state()).messages);
    flow.model.push({ text: "The task is there." });
    expect((await flow.finish("", { context: { mode: "free_work" } })).status).toBe("success");
    expect(kinds((await flow.state()).messages)).toEqual(["human", "ai", "tool", "ai"]);
    expect((await flow.state()).messages.at(-1)?.text).toBe("The task is there.");
    expect(flow.effects).toEqual(["first"]);
    await expectUsable(flow);
  });

  it("that is not there is refused with what to do", async () => {
    const flow = await open({ script: [{ text: "Hello." }] });
    await flow.finish("hello");
    const run = await flow.finish("", { context: { partial: "continue" } });
    expect(run).toMatchObject({ status: "error", error: { error: "invalid_state" } });
    expect(run.error?.message).toContain("without the context key partial");
    expect(kinds((await flow.state()).messages)).toEqual(["human", "ai"]);
  });
});
