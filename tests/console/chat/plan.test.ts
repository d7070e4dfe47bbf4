import { describe, expect, it } from "vitest";
import { pathIn } from "../../../console/markdown/links.ts";
import { newCall } from "../../../console/thread/blocks.ts";
import {
  emptyThread,
  type AssistantItem,
  type Call,
  type Item,
  type ThreadState,
} from "../../../console/thread/items.ts";
import { currentPlan, isNewestPlan, stepsOf } from "../../../console/thread/plan.ts";

const planned = (id: string, ...statuses: string[]): Call => ({
  ...newCall(id, "write_todos", undefined),
  status: "done",
  args: { todos: statuses.map((status, at) => ({ content: `step ${at}`, status })) },
});

/** A conversation in which `?` is what a user says, and all else an answer with these calls. */
function threadOf(...said: ("?" | Call[])[]): ThreadState {
  const items = new Map<string, Item>();
  const calls = new Map<string, Call>();
  for (const [at, one] of said.entries()) {
    const id = String(at);
    if (one === "?") {
      items.set(id, { kind: "user", id, text: "?", attachments: [], timestamp: undefined, state: "sent" });
      continue;
    }
    for (const call of one) calls.set(call.id, call);
    const answer: AssistantItem = {
      kind: "assistant",
      id,
      blocks: one.map((call) => ({ kind: "call", callId: call.id })),
      isStreaming: false,
      stopReason: "",
      isPartial: false,
      runId: undefined,
      timestamp: undefined,
      parent: undefined,
      suggestions: undefined,
      sources: [],
    };
    items.set(id, answer);
  }
  return { ...emptyThread, order: [...items.keys()], items, calls };
}

describe("the plan of a conversation", () => {
  it.each([
    ["is read of a call", planned("a", "completed", "in_progress", "pending"), ["done", "running", "pending"]],
    ["takes a state that it does not know as to be done", planned("a", "blocked"), ["pending"]],
    ["is none of another tool", { ...planned("a", "pending"), name: "read_file" }, undefined],
    ["is none while its arguments come", { ...planned("a"), args: undefined }, undefined],
    ["is none of a call that failed", { ...planned("a", "pending"), status: "failed" as const }, undefined],
    ["is none of other arguments", { ...planned("a"), args: { todos: "everything" } }, undefined],
  ])("%s", (_, call, states) => {
    expect(stepsOf(call)?.map(({ state }) => state)).toEqual(states);
  });

  it("is that of the newest turn", () => {
    const [a, b] = [planned("a", "pending"), planned("b", "completed")];
    expect(currentPlan(threadOf("?", [a], [b]))?.[0]?.state).toBe("done");
    expect(currentPlan(threadOf("?", [a], [b], "?"))).toBeUndefined();
  });

  it("is drawn where it was written last in its turn", () => {
    const [a, b, c] = [planned("a", "pending"), planned("b", "pending"), planned("c", "pending")];
    const thread = threadOf("?", [a, b], "?", [c]);
    expect(["a", "b", "c"].filter((id) => isNewestPlan(thread, id))).toEqual(["b", "c"]);
  });
});

describe("a path in code", () => {
  it.each([
    ["README.md", "README.md"],
    ["src/a.ts:12", "src/a.ts"],
    ["src/a.ts:12-20", "src/a.ts"],
    ["./notes/文档.txt", "./notes/文档.txt"],
    ["Array.from", undefined],
    ["console.log(x)", undefined],
    ["npm run a.js b", undefined],
    ["https://example.com/a.js", undefined],
    ["a\u202E.md", undefined],
    [`${"a".repeat(400)}.md`, undefined],
  ])("is read of %s", (text, path) => expect(pathIn(text)).toBe(path));
});
