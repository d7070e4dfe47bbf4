import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { SessionActivity } from "../../../src/sessions/overview/status.ts";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer | undefined;
let model: ModelServer | undefined;
afterEach(async () => {
  await server?.remove();
  await model?.close();
});

async function start(...script: ModelStep[]): Promise<TestServer> {
  model = await startModelServer({ script });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  const graphs = join(projectFolder, "langgraph.json");
  server = await startTestServer({ graphs, openai, model: "openai:scripted" });
  return server;
}

const statusOf = async (of: TestServer, id: string): Promise<SessionActivity> =>
  SessionActivity.parse(await (await of.send("GET", `/threads/${id}/status`)).json());
const input = (content: string) => ({ messages: [{ role: "user", content }] });

test("the status has the reply so far and the open questions, also after a restart", async () => {
  const until = Promise.withResolvers<void>();
  const deleting: ModelStep = { toolCalls: [{ name: "delete_file", arguments: { path: "old" } }] };
  let current = await start({ text: "Good day to you", hold: { after: 3, until: until.promise } }, deleting);
  const { thread_id: id } = await current.client.threads.create();
  expect(await statusOf(current, id)).toMatchObject({ conversation_state: { state: "Idle" }, stream_state: "IDLE" });

  const run = await current.client.runs.create(id, "agent", {
    input: input("tell me something, my friend"),
    streamMode: ["messages-tuple"],
  });
  await expect
    .poll(() => statusOf(current, id))
    .toMatchObject({
      conversation_state: { state: "StreamingResponse", accumulated_text: expect.stringContaining("Good day to") },
      stream_state: "STREAMING",
      loop: { phase: "streaming", iteration: 1, max_iterations: 60, tool: null },
      workflow_locked: true,
      can_send: false,
      transitions: [
        { from: "Idle", to: "WaitingAIResponse", at: expect.stringMatching(/Z$/u) },
        { from: "WaitingAIResponse", to: "StreamingResponse", at: expect.stringMatching(/Z$/u) },
      ],
    });
  until.resolve();
  await current.client.runs.join(id, run.run_id);
  const completed = await statusOf(current, id);
  expect(completed).toMatchObject({
    conversation_state: { state: "Completed", message_id: expect.any(String) },
    stream_state: "COMPLETE",
    compress_button_state: "normal",
    loop: null,
    workflow_locked: false,
  });
  expect(completed.usage_ratio).toBeGreaterThan(0);

  await mkdir(join(current.config.workspace, "old"));
  await writeFile(join(current.config.workspace, "old/a"), "1");
  await current.client.runs.wait(id, "agent", { input: input("clean up the old things, please") });
  const asked = await statusOf(current, id);
  expect(asked).toMatchObject({
    conversation_state: { state: "ToolCalling", tool_name: "delete_file", status: "awaiting_confirmation" },
    stream_state: "PAUSED",
    waits_for: [
      {
        kind: "confirmation",
        tool: "delete_file",
        question: expect.stringContaining("old"),
        keywords: expect.arrayContaining(["confirm", "确认"]),
      },
    ],
    can_send: true,
  });
  await current.close();
  current = server = await current.restart();
  expect(await statusOf(current, id)).toEqual(asked);
});

test("the status names the tool whose call is being written, before the call is complete (TOOL-12)", async () => {
  const until = Promise.withResolvers<void>();
  const lists: ModelStep = { text: "I look.", toolCalls: [{ name: "list_files", arguments: { path: "." } }] };
  const current = await start({ ...lists, hold: { after: 3, until: until.promise } }, { text: "Nothing is there." });
  const { thread_id: id } = await current.client.threads.create();
  const run = await current.client.runs.create(id, "agent", {
    input: input("tell me something, my friend"),
    context: { mode: "free_work" },
    streamMode: ["messages-tuple"],
  });
  await expect
    .poll(() => statusOf(current, id))
    .toMatchObject({ current_tool: "list_files", current_tool_is_partial: true, is_tool_executing: false });
  until.resolve();
  await current.client.runs.join(id, run.run_id);
  expect(await statusOf(current, id)).toMatchObject({ current_tool: null, current_tool_is_partial: false });
});

test("the status has the active tool, its round, the tokens so far, and the step of the turn (LOOP-24)", async () => {
  const until = Promise.withResolvers<void>();
  const subagents = [{ name: "one", task: "Look" }];
  const sends: ModelStep = { toolCalls: [{ name: "run_named_subagents", arguments: { subagents } }] };
  const current = await start(
    sends,
    { text: "I have looked.", hold: { after: 0, until: until.promise } },
    { text: "All is well." },
  );
  await mkdir(join(current.config.workspace, ".autocoderagents"), { recursive: true });
  await writeFile(
    join(current.config.workspace, ".autocoderagents/one.md"),
    "---\nname: one\ndescription: Looks\n---\nYou look.",
  );
  const { thread_id: id } = await current.client.threads.create();
  const run = await current.client.runs.create(id, "agent", {
    input: input("Have a look"),
    context: { mode: "free_work" },
  });
  const tool = "run_named_subagents";
  await expect
    .poll(() => statusOf(current, id))
    .toMatchObject({
      is_tool_executing: true,
      current_tool: tool,
      loop: { phase: "waiting_tool", iteration: 1, max_iterations: 60, tool },
      orchestration: { state: "tool_call" },
    });
  expect((await statusOf(current, id)).loop?.tokens).toBeGreaterThan(0);
  until.resolve();
  await current.client.runs.join(id, run.run_id);
  expect(await statusOf(current, id)).toMatchObject({
    is_tool_executing: false,
    loop: null,
    orchestration: { state: "respond" },
  });
});

test("the status of a failed run has an error that says whether to retry", async () => {
  const current = await start({ fault: { kind: "status", status: 401 } }, { fault: { kind: "status", status: 401 } });
  const { thread_id: id } = await current.client.threads.create();
  await current.client.runs.wait(id, "agent", { input: input("tell me something, my friend"), raiseError: false });
  const { conversation_state, workflow_locked } = await statusOf(current, id);
  expect(conversation_state).toMatchObject({ state: "Error", recoverable: false });
  expect(workflow_locked).toBe(false);
});

test("status and state name the tool that ran before a question, while the question is open", async () => {
  const listing: ModelStep = { toolCalls: [{ name: "list_files", arguments: { path: "." } }] };
  const deleting: ModelStep = { toolCalls: [{ name: "delete_file", arguments: { path: "old" } }] };
  const current = await start(listing, deleting, { text: "old is gone." });
  await mkdir(current.config.workspace, { recursive: true });
  await writeFile(join(current.config.workspace, "old"), "x");
  const { thread_id: id } = await current.client.threads.create();
  await current.client.runs.wait(id, "agent", {
    input: input("Tidy up the workspace"),
    context: { mode: "free_work" },
  });
  const waiting = {
    state: "tool_call",
    requires_confirm: true,
    last_tool: "list_files",
    last_result_summary: expect.stringContaining("old"),
  };
  expect((await statusOf(current, id)).orchestration).toMatchObject(waiting);
  const state = await current.client.threads.getState<{ orchestration: object }>(id);
  expect(state.values.orchestration).toMatchObject(waiting);
  await current.client.runs.wait(id, "agent", { command: { resume: { decisions: [{ type: "approve" }] } } });
  expect((await statusOf(current, id)).orchestration).toMatchObject({
    state: "respond",
    requires_confirm: false,
    last_tool: "delete_file",
  });
});
