import { describe, expect, it } from "vitest";
import type { ThreadEvent } from "../../../console/thread/events.ts";
import { emptyThread } from "../../../console/thread/items.ts";
import { Message } from "../../../console/api/shapes.ts";
import { withPage } from "../../../console/thread/from-messages.ts";
import { reduceAll } from "../../../console/thread/reduce.ts";

const event = (method: string, data: object, timestamp: number): ThreadEvent => ({
  method,
  seq: undefined,
  runId: "run",
  namespace: [],
  timestamp,
  data,
});
const block = { index: 0, run_id: "reply" };
const begun = event("messages", { event: "message-start", id: "reply", role: "ai", run_id: "reply" }, 1);
const named = { type: "tool_call_chunk", id: "call", name: "read_file" };
const written = event("messages", { event: "content-block-start", content: { ...named, args: '{"pa' }, ...block }, 2);
const whole = event(
  "messages",
  { event: "content-block-finish", content: { ...named, type: "tool_call", args: { path: "a.md" } }, ...block },
  3,
);
const kept = event("messages", { event: "message-finish", run_id: "reply" }, 3);
const started = event("tools", { event: "tool-started", tool_call_id: "call", tool_name: "read_file" }, 4);
const said = event("tools", { event: "tool-output-delta", tool_call_id: "call", delta: "half" }, 5);
const asked = event(
  "custom",
  { payload: { type: "tool_status", tool_call_id: "call", status: "awaiting_confirmation" } },
  4,
);
const finished = event("tools", { event: "tool-finished", tool_call_id: "call", output: "It says hello." }, 6);
const failed = event("tools", { event: "tool-error", tool_call_id: "call", message: "It is not there." }, 6);
const again = event("lifecycle", { event: "running" }, 6);
const over = event("lifecycle", { event: "completed" }, 7);

describe("the call of a tool, by its events (UI-05)", () => {
  it.each([
    ["is being written", [written], { status: "preparing", name: "read_file", argsText: '{"pa', args: undefined }],
    ["has been written", [written, whole], { status: "preparing", args: { path: "a.md" } }],
    ["runs", [written, whole, started], { status: "running", args: { path: "a.md" }, startedAt: 4 }],
    ["says something while it runs", [written, whole, started, said], { status: "running", output: "half" }],
    ["says it again after a crash", [written, whole, kept, started, said, again, said], { output: "half" }],
    ["waits for a person", [written, whole, asked], { status: "waiting" }],
    ["is done", [written, whole, started, finished], { status: "done", result: "It says hello.", endedAt: 6 }],
    ["has failed", [written, whole, started, failed], { status: "failed", result: "It is not there.", endedAt: 6 }],
    ["was cut off by the end of its run", [written, whole, started, over], { status: "cut", endedAt: 7 }],
    ["stays done when it is sent again", [written, whole, started, finished, started, failed], { status: "done" }],
  ])("%s", (_state, events, expected) => {
    const { items, calls } = reduceAll(emptyThread, [begun, ...events]);
    expect(items.get("reply")).toMatchObject({ blocks: [{ kind: "call", callId: "call" }] });
    expect(calls.get("call")).toMatchObject(expected);
  });
});

describe("the call of a tool, of a run without a reader", () => {
  const message = (more: object): Message =>
    Message.parse({
      id: "reply",
      role: "assistant",
      content: "",
      reasoning: "",
      timestamp: "2026-11-28T10:00:05.000Z",
      is_partial: false,
      stop_reason: "",
      operations: [],
      attachments: [],
      tool_calls: [],
      tool_call_id: null,
      name: null,
      suggestions: null,
      web_search_results: [],
      ...more,
    });
  const page = (result: object) => ({
    messages: [
      message({ tool_calls: [{ id: "call", name: "read_file", args: {} }] }),
      message({ id: "result", role: "tool", tool_call_id: "call", name: "read_file", ...result }),
    ],
    ended: new Set<string>(),
    isNewest: true,
    isWhole: true,
  });
  const took = { startedAt: Date.parse("2026-11-28T10:00:02.000Z"), endedAt: Date.parse("2026-11-28T10:00:05.000Z") };

  it("took the time between its beginning and its result", () => {
    const { calls } = withPage(emptyThread, page({ call_started_at: "2026-11-28T10:00:02.000Z" }));
    expect(calls.get("call")).toMatchObject({ status: "done", ...took });
  });

  it("is known without its beginning where the server does not report it", () => {
    const { calls } = withPage(emptyThread, page({}));
    expect(calls.get("call")).toMatchObject({ status: "done", startedAt: undefined });
  });
});
