import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { CustomEvent } from "../../../src/events.ts";
import type { RunEvent } from "@millrace/engine/run-events";
import { Activity, LiveActivity } from "../../../src/agent-runs/activity.ts";
import {
  conversationAfter,
  conversationMoves,
  nextConversation,
  streamStateOf,
  type ConversationName,
  type ConversationEvent,
} from "../../../src/agent-runs/conversation.ts";
import { stateBetweenRuns } from "../../../src/agent-runs/state-between-runs.ts";
import { ConversationState, ToolCallStatus } from "../../../src/state.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import { createGate } from "../fixtures.ts";
import { startStopBench, type Reader, type StopBench } from "../stop/stop-bench.ts";

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

const one: Record<ConversationName, ConversationState> = {
  Idle: { state: "Idle" },
  WaitingAIResponse: { state: "WaitingAIResponse", message_id: null },
  StreamingResponse: { state: "StreamingResponse", message_id: "m", accumulated_text: "" },
  ToolCalling: {
    state: "ToolCalling",
    message_id: "m",
    tool_call_id: "c",
    tool_name: "list_files",
    status: "executing",
  },
  Completed: { state: "Completed", message_id: "m" },
  Error: { state: "Error", message_id: "m", error: "no", recoverable: false },
};
const names = Object.keys(one) as ConversationName[];

/** The table of STATE-02 with the additions of C-46, written out once more. */
const allowed: Record<ConversationName, string> = {
  Idle: "WaitingAIResponse",
  WaitingAIResponse: "StreamingResponse ToolCalling Error Completed Idle",
  StreamingResponse: "StreamingResponse ToolCalling Completed Error Idle",
  ToolCalling: "ToolCalling StreamingResponse Error Completed Idle",
  Completed: "Idle",
  Error: "StreamingResponse WaitingAIResponse Idle",
};

describe("the table of a conversation's moves (STATE-02)", () => {
  it.each(names.flatMap((from) => names.map((to) => [from, to] as const)))("%s to %s", (from, to) => {
    const move = () => nextConversation(one[from], one[to]);
    if (allowed[from].split(" ").includes(to)) expect(move()).toBe(one[to]);
    else expect(move).toThrow(`cannot go from ${from} to ${to}`);
  });

  it.each([
    ["Idle", "IDLE"],
    ["WaitingAIResponse", "IDLE"],
    ["StreamingResponse", "STREAMING"],
    ["ToolCalling", "PAUSED"],
    ["Completed", "COMPLETE"],
    ["Error", "IDLE"],
  ] as const)("%s is %s for who reads the stream (STATE-07)", (name, state) => {
    expect(streamStateOf(one[name])).toBe(state);
  });
});

const eventsAfterSent: fc.Arbitrary<ConversationEvent> = fc.oneof(
  fc.record({
    kind: fc.constant("first_chunk" as const),
    message_id: fc.constantFrom("a", "b", null),
    text: fc.string(),
  }),
  fc.record({
    kind: fc.constant("call" as const),
    tool_call_id: fc.constantFrom("1", "2"),
    tool_name: fc.constantFrom("read_file", "delete_file"),
    status: fc.constantFrom(...ToolCallStatus.options),
  }),
  fc.record({ kind: fc.constant("replied" as const), message_id: fc.constantFrom("a", null) }),
  fc.record({ kind: fc.constant("stopped" as const), message_id: fc.constantFrom("a", null) }),
  fc.record({
    kind: fc.constant("failed" as const),
    error: fc.record({ error: fc.constantFrom("network", "auth", "TypeError"), message: fc.string() }),
  }),
);

describe("a conversation, for any order of events", () => {
  it("makes only allowed state changes, and none after its end", () => {
    fc.assert(
      fc.property(fc.array(eventsAfterSent, { maxLength: 40 }), (all) => {
        let state = conversationAfter(one.Idle, { kind: "sent" });
        for (const event of all) {
          const next = conversationAfter(state, event);
          if (next !== state) expect(conversationMoves[state.state]).toContain(next.state);
          if (["Idle", "Completed", "Error"].includes(state.state)) expect(next).toBe(state);
          expect(ConversationState.parse(next)).toEqual(next);
          state = next;
        }
      }),
    );
  });

  it("keeps its last 50 state changes", () => {
    const activity = new Activity();
    activity.apply({ kind: "sent" });
    for (let at = 0; at < 100; at += 1) activity.apply({ kind: "first_chunk", message_id: `${at}`, text: "" });
    expect(activity.moves).toHaveLength(50);
    expect(activity.moves.at(-1)).toMatchObject({ from: "StreamingResponse", to: "StreamingResponse" });
  });

  it("says of a failure whether the message may be sent again, and what to do", () => {
    const failed = (error: string) =>
      conversationAfter(one.WaitingAIResponse, { kind: "failed", error: { error, message: "m" } });
    expect(failed("network")).toMatchObject({
      recoverable: true,
      error: "m",
      suggestion: expect.stringContaining("try again"),
    });
    expect(failed("auth")).toMatchObject({
      recoverable: false,
      error: "m",
      suggestion: expect.stringContaining("key"),
    });
    expect(failed("TypeError")).toMatchObject({ recoverable: false, error: "TypeError: m" });
  });
});

type StateEvent = CustomEvent & { type: "conversation_state" };
const statesOf = (reader: Reader): StateEvent[] =>
  reader.custom().filter((event): event is StateEvent => event.type === "conversation_state");
const short = (event: StateEvent): string =>
  event.state === "ToolCalling" ? `${event.state} ${event.status}` : event.state;

/** The states as sent; each is a legal move from the one before. */
function walked(reader: Reader): string[] {
  const states = statesOf(reader);
  for (const [index, { state }] of states.entries()) {
    const before = states[index - 1]?.state;
    if (before !== undefined) expect(conversationMoves[before]).toContain(state);
  }
  return states.map(short);
}

const words = (count: number): string => Array.from({ length: count }, (_, index) => `word${index}`).join(" ");
const never = new Promise<never>(() => undefined);
const listing: ModelStep = { text: "I look.", toolCalls: [{ name: "list_files", arguments: {} }] };
const deleting: ModelStep = { toolCalls: [{ name: "delete_file", arguments: { path: "old" } }] };
const asked = "What is in the notes?";

describe("a run reports its conversation (STATE-01)", () => {
  it("from the message over the reply to its end, once per change and never per token", async () => {
    const flow = await open({ script: [{ text: words(60) }] });
    const { run, reader } = await flow.start("tell me something, my friend");
    await reader.over;
    expect(walked(reader)).toEqual(["Idle", "WaitingAIResponse", "StreamingResponse", "Completed"]);
    const { messages } = await flow.state();
    expect(statesOf(reader).at(-1)).toMatchObject({ message_id: messages.at(-1)?.id });
    expect(reader.events.filter(({ event }) => event === "messages").length).toBeGreaterThan(30);
    const row = await flow.runs.get(run.run_id);
    expect(stateBetweenRuns(row, { interrupts: {} }, messages)).toEqual({
      state: "Completed",
      message_id: messages.at(-1)?.id,
    });
  });

  it("through its tool calls, each state after what it describes (EVENT-06, EVENT-08)", async () => {
    const flow = await open({ files: { "notes.md": "x" }, script: [listing, { text: "One file." }] });
    const { reader } = await flow.start(asked);
    await reader.over;
    expect(walked(reader)).toEqual([
      "Idle",
      "WaitingAIResponse",
      "StreamingResponse",
      "ToolCalling pending",
      "ToolCalling executing",
      "ToolCalling completed",
      "StreamingResponse",
      "Completed",
    ]);
    // Each of our events says when it was sent (EVENT-01).
    for (const event of reader.custom()) expect(event).toHaveProperty("time", expect.stringMatching(/^20\d\d-.*Z$/u));
    expect(orderOf(reader)).toEqual([
      "metadata",
      "workflow_locked",
      "conversation_state Idle",
      "conversation_state WaitingAIResponse",
      "user message",
      "text",
      "conversation_state StreamingResponse",
      "text",
      "tool arguments",
      "tool_status pending",
      "conversation_state ToolCalling pending",
      "tool_status executing",
      "conversation_state ToolCalling executing",
      "agentic_loop.tool_called",
      "agentic_loop.tool_result",
      "tool_status completed",
      "conversation_state ToolCalling completed",
      "text",
      "conversation_state StreamingResponse",
      "text",
      "final message",
      "workflow_unlocked",
      "conversation_state Completed",
    ]);
  });

  it("waits at a question, which is sent once however often it is answered, and goes on from the answer", async () => {
    const flow = await open({ files: { "old/a": "1" }, script: [deleting, { text: "It stays." }] });
    const first = await flow.start("clean up the old things, please");
    await first.reader.over;
    expect(walked(first.reader).slice(-2)).toEqual(["ToolCalling pending", "ToolCalling awaiting_confirmation"]);
    const session = await flow.storage.sessions.get(flow.session.session_id);
    const row = await flow.runs.get(first.run.run_id);
    if (session === undefined) throw new Error("the session is there");
    expect(stateBetweenRuns(row, session, [])).toMatchObject({
      tool_name: "delete_file",
      status: "awaiting_confirmation",
    });

    const unclear = await flow.start("", { input: null, command: { resume: "perhaps" } });
    await unclear.reader.over;
    const denied = await flow.start("", { input: null, command: { resume: false } });
    await denied.reader.over;
    for (const { reader } of [unclear, denied]) {
      const statuses = reader.custom().flatMap((event) => (event.type === "tool_status" ? [event.status] : []));
      expect(statuses).not.toContain("awaiting_confirmation");
    }
    expect(walked(denied.reader).at(-1)).toBe("Completed");
  });

  it.each([
    ["keeps a long reply", 30, "Completed"],
    ["drops a short one", 2, "Idle"],
  ])("stopped: %s", async (_, wordCount, end) => {
    const flow = await open({ script: [{ text: words(40), hold: { after: wordCount, until: never } }] });
    const { run, reader } = await flow.start("tell me something, my friend");
    const last = `word${wordCount - 1}`;
    await reader.until((all) => [...all.text().values()].some(({ content }) => content.includes(last)));
    await flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    await reader.over;
    expect(walked(reader)).toEqual(["Idle", "WaitingAIResponse", "StreamingResponse", end]);
    const types = reader.custom().map(({ type }) => type);
    expect(types.slice(-3)).toEqual(["stop_completed", "workflow_unlocked", "conversation_state"]);
    const { messages } = await flow.state();
    const rest = stateBetweenRuns(await flow.runs.get(run.run_id), { interrupts: {} }, messages);
    expect(rest.state).toBe(end);
  });

  it("stopped in a tool: the call is cancelled, and nothing stays locked (STATE-06, STOP-12)", async () => {
    const call: ModelStep = { toolCalls: [{ name: "add_item", arguments: { title: "A" } }] };
    const flow = await open({ script: [call] });
    flow.gate.current = createGate();
    const { run, reader } = await flow.start("create a task named A");
    await flow.gate.current.arrived;
    await reader.until(() => statesOf(reader).some((event) => short(event) === "ToolCalling executing"));
    const live = LiveActivity.parse(await flow.runs.liveOf(flow.session.session_id));
    expect(live.calls).toMatchObject([{ tool_name: "add_item", status: "executing" }]);
    const ended = flow.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    flow.gate.current.open();
    await ended;
    await reader.over;
    expect(walked(reader).slice(-2)).toEqual(["ToolCalling cancelled", "Idle"]);
    expect(reader.custom().map(({ type }) => type)).toContain("workflow_unlocked");
  });

  it("ends with the error, before the error event that is the last", async () => {
    const flow = await open({ script: [{ fault: { kind: "status", status: 401 } }] });
    const { run, reader } = await flow.start("tell me something, my friend");
    await reader.over;
    expect(walked(reader)).toEqual(["Idle", "WaitingAIResponse", "Error"]);
    expect(reader.events.at(-1)?.event).toBe("error");
    const row = await flow.runs.get(run.run_id);
    expect(stateBetweenRuns(row, { interrupts: {} }, [])).toMatchObject({ state: "Error", recoverable: false });
  });

  it("to the status alone, where no reader has asked for events (LOOP-24)", async () => {
    const call: ModelStep = { toolCalls: [{ name: "add_item", arguments: { title: "A" } }] };
    const flow = await open({ script: [call, { text: "Done." }] });
    flow.gate.current = createGate();
    const { reader } = await flow.start("create a task named A", { stream_mode: ["values"] });
    await flow.gate.current.arrived;
    const live = LiveActivity.parse(await flow.runs.liveOf(flow.session.session_id));
    expect(live.conversation).toMatchObject({ state: "ToolCalling", status: "executing" });
    expect(live.loop).toMatchObject({ phase: "waiting_tool", iteration: 1, max_iterations: 60 });
    expect(live.loop?.tokens).toBeGreaterThan(0);
    expect(live.turn).toBe("tool_call");
    flow.gate.current.open();
    await reader.over;
    expect(reader.custom()).toEqual([]);
  });
});

/** What a reader sees of a turn, in order; the same thing several times running counts once. */
function orderOf(reader: Reader): string[] {
  const seen = reader.events.map(nameOf).filter((name) => name !== undefined);
  return seen.filter((name, index) => name !== seen[index - 1]);
}

function nameOf(event: RunEvent): string | undefined {
  switch (event.event) {
    case "metadata":
      return "metadata";
    case "custom": {
      const custom = event.data as CustomEvent;
      if (custom.type === "conversation_state") return `${custom.type} ${short(custom)}`;
      if (custom.type === "tool_status") return `${custom.type} ${custom.status}`;
      return /^(workflow_|agentic_loop\.tool)/u.test(custom.type) ? custom.type : undefined;
    }
    case "messages": {
      if (!(event.data instanceof AIMessageChunk)) return undefined;
      if (event.data.text !== "") return "text";
      return (event.data.tool_call_chunks ?? []).length > 0 ? "tool arguments" : undefined;
    }
    case "values": {
      const { messages } = event.data as { messages: BaseMessage[] };
      return messages.length === 1 ? "user message" : "final message";
    }
    default:
      return undefined;
  }
}
