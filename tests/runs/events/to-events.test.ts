import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { StreamMode } from "@millrace/engine/run-events";
import { createTranslator, planStream } from "@millrace/engine/runs/events/to-events";

describe("the modes asked of LangGraph", () => {
  it.each([
    [["values"], ["values"]],
    [["updates"], ["updates"]],
    [["messages-tuple"], ["messages", "updates"]],
    [["messages"], ["messages", "values"]],
    [["custom"], ["custom", "updates"]],
    [
      ["values", "messages-tuple", "custom"],
      ["values", "messages", "custom"],
    ],
    [["debug"], ["debug", "updates"]],
    [[], ["updates"]],
  ] as [StreamMode[], string[]][])(
    "for %j are %j, and what the agent says besides where there is one",
    (asked, modes) => {
      expect(planStream(asked, false, false).modes).toEqual(modes);
      const ofAgent = planStream(asked, false, true);
      expect(new Set(ofAgent.modes)).toEqual(new Set([...modes, "messages", "custom"]));
      expect(ofAgent.subgraphs).toBe(true);
    },
  );

  it.each([
    [["messages-tuple", "messages", "custom", "tools"], false],
    [["lifecycle"], true],
  ] as [StreamMode[], boolean][])("of a graph without our loop look inside for %j: %s", (asked, subgraphs) => {
    expect(planStream(asked, false, false).subgraphs).toBe(subgraphs);
    expect(planStream(asked, true, false).subgraphs).toBe(true);
  });
});

describe("a chunk of LangGraph", () => {
  it("of a mode without a subscriber is dropped", () => {
    const translate = createTranslator(["values"], true);
    expect(translate([[], "updates", { node: {} }])).toEqual([]);
    expect(translate([[], "custom", 1])).toEqual([]);
    expect(translate([[], "checkpoints", { id: "c", parent_id: "p", step: 1, source: "loop" }])).toEqual([]);
  });

  it("of a subgraph is dropped, but its messages and custom events are the root's, without subgraphs", () => {
    const translate = createTranslator(["values", "updates", "tasks", "messages-tuple", "custom"], false);
    const path = ["node:task"];
    expect(translate([path, "values", {}])).toEqual([]);
    expect(translate([path, "updates", {}])).toEqual([]);
    expect(translate([path, "tasks", {}])).toEqual([]);
    expect(translate([path, "custom", "hi"])).toEqual([{ event: "custom", namespace: [], data: "hi" }]);
    const chunk = new AIMessageChunk({ content: "a", id: "m" });
    const metadata = { langgraph_node: "n" };
    expect(translate([path, "messages", [chunk, metadata]])).toEqual([
      { event: "messages", namespace: [], data: chunk, metadata },
    ]);
  });

  it("sends the checkpoint before a state only where that is wanted", () => {
    const envelope = { id: "c", parent_id: "p", step: 1, source: "loop" };
    const translate = createTranslator(["values"], true, undefined, true);
    expect(translate([["node:task"], "checkpoints", envelope])).toEqual([
      { event: "checkpoint", namespace: ["node:task"], data: envelope },
    ]);
  });

  it("has what tools returned, and of what they threw its name and text", () => {
    const translate = createTranslator(["tools"], false);
    const call = { toolCallId: "c", name: "look" };
    const end = { event: "on_tool_end", ...call, output: "seen" };
    expect(translate([[], "tools", end])).toEqual([{ event: "tools", namespace: [], data: end }]);
    expect(translate([[], "tools", { event: "on_tool_error", ...call, error: new RangeError("too far") }])).toEqual([
      {
        event: "tools",
        namespace: [],
        data: { event: "on_tool_error", ...call, error: { error: "RangeError", message: "too far" } },
      },
    ]);
  });

  it("keeps its path with subgraphs", () => {
    const translate = createTranslator(["updates", "custom"], true);
    const namespace = ["node:task"];
    expect(translate([namespace, "updates", { a: 1 }])).toEqual([{ event: "updates", namespace, data: { a: 1 } }]);
    expect(translate([namespace, "custom", 1])).toEqual([{ event: "custom", namespace, data: 1 }]);
  });

  it("with messages becomes metadata once, partials, and each message complete once", () => {
    const translate = createTranslator(["messages"], false);
    const human = new HumanMessage({ content: "q", id: "h" });
    const answer = new AIMessage({ content: "ab", id: "a" });
    const chunk = (content: string) => new AIMessageChunk({ content, id: "a" });
    const names = [
      translate([[], "values", { messages: [human] }]),
      translate([["sub:1"], "messages", [chunk("a"), { langgraph_node: "n" }]]),
      translate([["sub:1"], "messages", [chunk("b"), { langgraph_node: "n" }]]),
      translate([[], "messages", [answer, {}]]),
      translate([[], "values", { messages: [human, answer] }]),
      translate([[], "values", { messages: [human, answer] }]),
      translate([[], "values", { __interrupt__: [] }]),
    ].map((events) => events.map(({ event }) => event));
    expect(names).toEqual([
      ["messages/complete"],
      ["messages/metadata", "messages/partial"],
      ["messages/partial"],
      [],
      ["messages/complete"],
      [],
      [],
    ]);
  });

  it("of a debug checkpoint has the wire's fields, without what is the server's own", () => {
    const translate = createTranslator(["debug"], false);
    const payload = {
      config: { callbacks: [], configurable: { thread_id: "t", checkpoint_id: "c", __millrace: { secret: 1 } } },
      parentConfig: undefined,
      values: {},
      tasks: [{ id: "1", name: "n", state: { configurable: { thread_id: "t", checkpoint_ns: "n:1" } } }],
    };
    const [event] = translate([[], "debug", { type: "checkpoint", step: 0, payload }]);
    expect(event).toEqual({
      event: "debug",
      namespace: [],
      data: {
        type: "checkpoint",
        step: 0,
        payload: {
          values: {},
          config: { configurable: { thread_id: "t", checkpoint_id: "c" } },
          parent_config: undefined,
          checkpoint: { thread_id: "t", checkpoint_id: "c", checkpoint_ns: "", checkpoint_map: null },
          parent_checkpoint: null,
          tasks: [
            {
              id: "1",
              name: "n",
              checkpoint: { thread_id: "t", checkpoint_id: null, checkpoint_ns: "n:1", checkpoint_map: null },
            },
          ],
        },
      },
    });
  });
});
