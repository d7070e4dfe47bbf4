import { afterEach, expect, it } from "vitest";
import type { BackgroundAgent } from "../../src/agents/background.ts";
import { wireText, type ModelRequest } from "@millrace/testing/model-server";
import type { TestWorkflow } from "../support/workflow.ts";
import { agentFiles, hands, startWithAgents } from "./agent-flow.ts";

let flow: TestWorkflow;
afterEach(() => flow.close());

const finished = (index: number): BackgroundAgent => ({
  session_id: `s-${index}`,
  run_id: `r-${index}`,
  name: "one",
  task: "Go",
  status: "finished",
  begun_at: "2026-11-22T00:00:00.000Z",
  report: { success: true, end_reason: "answered", reply: `Result ${index}.`, tokens: 1, cost: null },
  cleared: false,
});
const all = Array.from({ length: 70 }, (_, index) => finished(index));

/** The number of agents that a request reports to the model, and in how many messages. */
function reported(request: ModelRequest | undefined): { agents: number; notes: number } {
  const notes = (request?.messages ?? []).filter((message) => wireText(message).includes("Background agent"));
  expect(notes.every(({ role }) => role === "user")).toBe(true);
  return {
    agents: notes.flatMap((note) => wireText(note).match(/Background agent /gu) ?? []).length,
    notes: notes.length,
  };
}

it("reports at most 64 finished agents in one message, and the others in the next turn (LOOP-19)", async () => {
  flow = await startWithAgents({
    files: agentFiles({ one: {} }),
    script: [hands("background", { one: "Go" }), { text: "Sent." }, { text: "Seen." }, { text: "Nothing new." }],
  });
  flow.services.background = {
    send: async () => ({ session_id: "s", run_id: "r" }),
    list: async (except = new Set()) => all.filter(({ session_id }) => !except.has(session_id)),
    watch: () => undefined,
    stop: async () => undefined,
    clear: async () => undefined,
  };
  for (const text of ["Send one", "And the rest?", "And now?"]) await flow.send(text, { mode: "free_work" });
  expect(flow.model.requests.map(reported)).toEqual([
    { agents: 0, notes: 0 },
    { agents: 64, notes: 1 },
    { agents: 6, notes: 1 },
    { agents: 0, notes: 0 },
  ]);
});
