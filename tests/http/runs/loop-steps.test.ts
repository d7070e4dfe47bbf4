import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let sessions: SessionFixture;
beforeAll(async () => {
  sessions = await startSessions();
});
afterAll(() => sessions.close());

const Updates = z.record(z.string(), z.unknown());

/** The steps of the loop in a run, in order. */
async function stepsOf(thread: string, body: object): Promise<string[]> {
  const run = { ...body, streamMode: "updates", streamSubgraphs: true } as const;
  const steps: string[] = [];
  for await (const { event, data } of sessions.server.client.runs.stream(thread, "agent", run)) {
    if (event.startsWith("updates|")) steps.push(...Object.keys(Updates.parse(data)));
  }
  return steps;
}

const list = { name: "list_files", arguments: { path: "." } };
const say = (content: string): object => ({ input: { messages: [{ role: "user", content }] } });

it("calls without questions are executed in the step after the reply", async () => {
  const { thread_id } = await sessions.server.client.threads.create();
  sessions.model.push({ toolCalls: [list, { name: "no_such_tool", arguments: {} }] }, { text: "Done." });
  expect(await stepsOf(thread_id, say("What is there?"))).toEqual([
    "assemble",
    "call_model",
    "call_tool",
    "call_tool",
    "assemble",
    "call_model",
    "finish",
  ]);
});

it("all calls of a reply wait if one of them needs approval", async () => {
  mkdirSync(join(sessions.server.config.workspace, "old"));
  writeFileSync(join(sessions.server.config.workspace, "old", "note.md"), "old");
  const { thread_id } = await sessions.server.client.threads.create();
  const remove = { name: "delete_file", arguments: { path: "old" } };
  sessions.model.push({ toolCalls: [list, remove] }, { text: "Done." });
  const asked = await stepsOf(thread_id, say("Delete the folder old, and tell me what is there."));
  expect(asked).not.toContain("call_tool");
  expect(asked).toContain("check_calls");
  const answered = await stepsOf(thread_id, { command: { resume: { decisions: [{ type: "approve" }] } } });
  expect(answered.filter((step) => step === "call_tool")).toHaveLength(2);
});
