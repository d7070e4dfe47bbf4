import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { RunEvent } from "@millrace/engine/run-events";
import { LogSpans } from "@millrace/engine/runs/trace/log-spans";

type Body = RunEvent extends infer Event ? (Event extends unknown ? Omit<Event, "id" | "at"> : never) : never;

/** Takes in a log whose events are a second apart; gives the spans as lines: kind, name, status, from and to in seconds. */
function linesOf(events: readonly Body[]): string[] {
  const log = new LogSpans("run");
  for (const [id, body] of events.entries()) log.add({ id, at: id * 1000, ...body });
  const seconds = (time: number | null): string => (time === null ? "" : String(time / 1000));
  return log.spans.map(({ kind, name, status, start, first_token, end, usage }) => {
    const times = `${seconds(start)}-${first_token === null ? "" : `${seconds(first_token)}-`}${seconds(end)}`;
    return `${kind} ${name} ${status} ${times}${usage === null ? "" : ` ${usage.input_tokens}/${usage.output_tokens}`}`;
  });
}

const begun = (id: string, input: unknown = {}, namespace: string[] = []): Body => ({
  event: "tasks",
  namespace,
  data: { id, name: `node ${id}`, input },
});
const done = (id: string, rest: object = {}): Body => ({
  event: "tasks",
  namespace: [],
  data: { id, result: {}, ...rest },
});
const says = (message: AIMessage | AIMessageChunk, task: string): Body => ({
  event: "messages",
  namespace: [],
  data: message,
  metadata: {
    langgraph_checkpoint_ns: `node:${task}`,
    langgraph_node: "node",
    ls_model_name: "scripted",
    ls_model_type: "chat",
  },
});
const custom = (data: object): Body => ({ event: "custom", namespace: [], data });
const tool = (event: string, toolCallId: string): Body => ({
  event: "tools",
  namespace: [],
  data: { event, toolCallId, name: toolCallId },
});

describe("the spans of a log", () => {
  const cases: [string, Body[], string[]][] = [
    [
      "nodes side by side are one step, the next one another",
      [begun("a"), begun("b"), done("a"), done("b"), begun("c"), done("c")],
      [
        "step step 1 success 0-3",
        "node node a success 0-2",
        "node node b success 1-3",
        "step step 2 success 4-5",
        "node node c success 4-5",
      ],
    ],
    [
      "a node that waits for a person, and one that fails",
      [
        begun("a"),
        begun("b"),
        done("a", { interrupts: [{ id: "x" }] }),
        done("b", { error: { name: "E", message: "m" } }),
      ],
      ["step step 1 error 0-3", "node node a interrupted 0-2", "node node b error 1-3"],
    ],
    [
      "a node that waits for a person alone",
      [begun("a"), done("a", { interrupts: [{ id: "x" }] })],
      ["step step 1 interrupted 0-1", "node node a interrupted 0-1"],
    ],
    [
      "two model calls of a node: each from the end of the one before, with the tokens of all its pieces",
      [
        begun("a"),
        says(new AIMessageChunk({ id: "m", content: "" }), "a"),
        says(new AIMessageChunk({ id: "m", content: "hi" }), "a"),
        says(
          new AIMessageChunk({
            id: "m",
            content: "",
            usage_metadata: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
          }),
          "a",
        ),
        says(
          new AIMessage({
            id: "n",
            content: "all",
            usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
          }),
          "a",
        ),
        done("a"),
      ],
      [
        "step step 1 success 0-5",
        "node node a success 0-5",
        "model scripted success 0-2-3 3/2",
        "model scripted success 3-4 1/1",
      ],
    ],
    [
      "what a crash has cut off, and its node once more",
      [
        { event: "metadata", data: { run_id: "run", attempt: 1 } },
        begun("a"),
        tool("on_tool_start", "call"),
        { event: "metadata", data: { run_id: "run", attempt: 2 } },
        begun("a"),
        tool("on_tool_start", "call"),
        tool("on_tool_error", "call"),
        done("a"),
      ],
      [
        "step step 1 interrupted 1-2",
        "node node a interrupted 1-2",
        "tool call interrupted 2-2",
        "retry attempt 2 success 3-3",
        "step step 1 success 4-7",
        "node node a success 4-7",
        "tool call error 5-6",
      ],
    ],
    [
      "a model that is asked again, and an agent",
      [
        begun("a"),
        custom({ type: "retry", what: "model", attempt: 1, reason: "500" }),
        custom({ type: "subagent_started", agent_id: "1", agent_name: "Ada", task: "x" }),
        custom({ type: "subagent_completed", agent_id: "1", success: false }),
        done("a"),
      ],
      ["step step 1 success 0-4", "node node a success 0-4", "retry model success 1-1", "agent Ada error 2-3"],
    ],
    [
      "events of other forms say nothing",
      [
        { event: "tasks", namespace: [], data: "task" },
        { event: "tools", namespace: [], data: { event: "on_tool_end" } },
        { event: "checkpoint", namespace: [], data: {} },
        done("never begun"),
        custom({ type: "subagent_completed", agent_id: "2", success: true }),
        { event: "values", namespace: [], data: {} },
      ],
      [],
    ],
  ];
  it.each(cases)("%s", (_, events, expected) => expect(linesOf(events)).toEqual(expected));

  it("have ids of their own, also where a task is done again, and each hangs on one before it", () => {
    const log = new LogSpans("run");
    const known = new Set(["run"]);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      for (const body of [
        { event: "metadata", data: { run_id: "run", attempt } } as const,
        begun("a"),
        begun("inner", {}, ["node:a"]),
        says(new AIMessageChunk({ id: "m", content: "x" }), "a"),
        tool("on_tool_start", "call"),
      ]) {
        for (const span of log.add({ id: log.last + 1, at: 0, ...body })) {
          expect(known.has(span.parent ?? "")).toBe(true);
          known.add(span.id);
        }
      }
    }
    expect(new Set(log.spans.map(({ id }) => id)).size).toBe(log.spans.length);
    expect(log.spans.filter(({ kind }) => kind === "model")).toHaveLength(3);
  });
});
