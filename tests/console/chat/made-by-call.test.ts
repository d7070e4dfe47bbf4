import { expect, it } from "vitest";
import type { AssistantItem, Call } from "../../../console/thread/items.ts";
import { madeBy } from "../../../console/thread/made-by-call.ts";

const message: AssistantItem = {
  kind: "assistant",
  id: "m1",
  blocks: [
    { kind: "call", callId: "other" },
    { kind: "text", text: "Now", isOpen: false },
    { kind: "call", callId: "c1" },
  ],
  isStreaming: false,
  stopReason: "",
  isPartial: false,
  runId: undefined,
  timestamp: undefined,
  parent: undefined,
  suggestions: undefined,
  sources: [],
};
const call = (name: string, result: string, given: Partial<Call> = {}): Call => ({
  id: "c1",
  name,
  args: { circuit: "a.cir" },
  argsText: "",
  status: "done",
  result,
  whole: undefined,
  output: "",
  startedAt: undefined,
  endedAt: undefined,
  runId: undefined,
  agents: [],
  ...given,
});
const line = (id: string): string => `Task created: [ ] Buy (cheap; id 7) paper (no date; id ${id})`;

it.each([
  [call("create_task", line("t-1")), { kind: "task", id: "t-1" }],
  [call("create_schedule", `Scheduled: [ ] Mow (2026-03-02, area x; id t-2)\n`), { kind: "task", id: "t-2" }],
  [call("create_task", "It is full."), undefined],
  [call("create_task", line("t-1"), { status: "failed" }), undefined],
  [call("delete_task", line("t-1")), undefined],
  [call("run_simulation", "Simulated a.cir."), { kind: "simulation", circuit: "a.cir", callId: "m1/1" }],
  [call("run_simulation", "Simulated a.cir.", { id: "of-none" }), undefined],
  [call("run_simulation", "Simulated a.cir.", { args: undefined }), undefined],
])("what a call has made is shown beside it as far as it says so (%#)", (one, made) => {
  expect(madeBy({ items: new Map([["m1", message]]) }, one)).toEqual(made);
});
