import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { compactedHistory } from "../../../src/context/compression/compacted.ts";
import { planCompaction } from "../../../src/context/compression/compaction.ts";
import { visibleHistory } from "../../../src/context/compression/shorter-history.ts";
import { clearTools } from "../../../src/context/pruning/clear-tools.ts";
import type { CompressionLevel, ConversationSummary } from "../../../src/state.ts";

type Mark = "keep" | "hide";
const fields = (id: string, mark?: Mark) => ({
  id,
  content: `${id} ${"long ".repeat(200)}`,
  additional_kwargs: mark === undefined ? {} : { model_view: mark },
});
const asked = (id: string, mark?: Mark): BaseMessage => new HumanMessage(fields(id, mark));
const replied = (id: string, mark?: Mark): BaseMessage => new AIMessage(fields(id, mark));
const called = (id: string, mark?: Mark): BaseMessage[] => [
  new AIMessage({ ...fields(id), content: "", tool_calls: [{ id, name: "read_file", args: {} }] }),
  new ToolMessage({ ...fields(`${id} result`, mark), tool_call_id: id }),
];
const idsOf = (messages: readonly BaseMessage[]) => messages.map(({ id }) => id);
const summary = (through: string, level: CompressionLevel = "normal"): ConversationSummary => ({
  goal: "",
  completed: [],
  todo: [],
  attempted_solutions: [],
  current_problem: "",
  key_decisions: [],
  through_message_id: through,
  shown: { level, kept_message_ids: [], last_message_id: through, earlier: [], operations: [] },
});

describe("a message that its user hides", () => {
  it("is not in view, nor are the calls and results that belong to it; the current request stays", () => {
    const history = [
      asked("one"),
      replied("two", "hide"),
      asked("three"),
      ...called("four", "hide"),
      asked("now", "hide"),
    ];
    expect(idsOf(compactedHistory(history, null))).toEqual(["one", "three", "now"]);
  });

  it("ends a summary all the same, and none is written about it", () => {
    const history = [asked("one"), replied("two", "hide"), asked("three"), replied("four"), asked("now")];
    expect(idsOf(compactedHistory(history, summary("two")))).toEqual(["three", "four", "now"]);
    const plan = planCompaction(history, null, { limit: 10_000, keep: 1 });
    expect(idsOf(plan?.removed ?? [])).toEqual(["one", "three", "four"]);
    expect(plan?.shown.earlier.join(" ")).not.toContain("two");
    expect(planCompaction([asked("one", "hide"), asked("now")], null, { limit: 10_000, keep: 1 })).toBeNull();
  });
});

describe("a message that its user keeps", () => {
  it.each(["normal", "secondary", "extreme"] as const)("is in view whole beside a summary at the level %s", (level) => {
    const history = [asked("one"), ...called("two", "keep"), replied("three"), asked("now")];
    const view = compactedHistory(history, summary("three", level));
    expect(idsOf(view)).toEqual(["two", "two result", "now"]);
    expect(view[1]).toBe(history[2]);
  });

  it("stays when only some rounds are shown, and when results are cleared", () => {
    const history = [asked("one", "keep"), replied("two"), asked("three"), replied("four"), asked("now")];
    expect(idsOf(visibleHistory(history, null, 1).visible)).toEqual(["one", "now"]);
    const calls = Array.from({ length: 12 }, (_, index) => called(`call ${index}`, index === 0 ? "keep" : undefined));
    const { messages, cleared } = clearTools(calls.flat(), 100, () => "cleared");
    expect(messages[1]?.text).toContain("call 0 result");
    expect(cleared).toBeGreaterThan(0);
  });
});
