import { START, StateGraph, interrupt } from "@langchain/langgraph";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createLogger } from "@millrace/engine/logger";
import { startApprovalSweep } from "@millrace/engine/sessions/questions/approvals";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { sessionRecord } from "../contract/records.ts";
import { createRuns, createSession, never, request, serve, State } from "../runs/fixtures.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const hour = 3_600_000;

const asks = new StateGraph(State)
  .addNode("asks", () => ({ steps: [JSON.stringify(interrupt({ actionRequests: [{ name: "drop", args: {} }] }))] }))
  .addEdge(START, "asks")
  .compile();

it("denies nothing more once it is stopped: a server that stops does not wait for thousands", async () => {
  const storage = createSqliteStorage(":memory:");
  const runs = createRuns(storage, serve({ agent: asks }, storage.checkpointer));
  const session = await createSession(storage);
  await runs.wait((await runs.start(session, request("agent"))).run_id, never);
  vi.setSystemTime(Date.now() + 2 * hour);
  await startApprovalSweep({ storage, runs, timeoutHours: 1 }, createLogger("silent")).stop();
  expect(await storage.approvals.pending(session.session_id)).toHaveLength(1);
  await runs.drain(0);
  await storage.close();
});

it("leaves the questions of all servers to the leading one", async () => {
  const storage = createSqliteStorage(":memory:");
  const runs = createRuns(storage, serve({ agent: asks }, storage.checkpointer));
  const looked = vi.spyOn(storage.approvals, "askedBefore");
  for (const leads of [false, true]) {
    await startApprovalSweep({ storage, runs, timeoutHours: 1 }, createLogger("silent"), () => leads).stop();
    expect(looked).toHaveBeenCalledTimes(leads ? 1 : 0);
  }
  await runs.drain(0);
  await storage.close();
});

it("denies what has waited too long behind any number of questions that wait for ever", async () => {
  const storage = createSqliteStorage(":memory:");
  for (let place = 0; place < 1001; place += 1) {
    const interrupts = { task: [{ id: `question-${place}`, value: "What is your name?" }] };
    await storage.sessions.create(sessionRecord(`s${place}`, { interrupts }));
  }
  vi.setSystemTime(Date.now() + 1);
  const runs = createRuns(storage, serve({ agent: asks }, storage.checkpointer));
  const session = await createSession(storage);
  await runs.wait((await runs.start(session, request("agent"))).run_id, never);
  expect(await storage.approvals.pending(session.session_id)).toHaveLength(1);

  vi.setSystemTime(Date.now() + 2 * hour);
  const sweep = startApprovalSweep({ storage, runs, timeoutHours: 1 }, createLogger("silent"));
  await sweep.sweep();
  await sweep.stop();
  expect(await storage.approvals.pending(session.session_id)).toEqual([]);
  expect(await storage.approvals.pending("s0")).toHaveLength(1);
  await runs.drain(0);
  await storage.close();
});
