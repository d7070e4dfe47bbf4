import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { isAIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../support/workflow.ts";
import { wireText, type ModelStep, mayCall } from "@millrace/testing/model-server";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  running = await startWorkflow(options);
  return running;
}

const reads = (path: string, id?: string): ModelStep => ({
  toolCalls: [{ name: "read_file", arguments: { path }, ...(id === undefined ? {} : { id }) }],
});
const kinds = (messages: BaseMessage[]) => messages.map((message) => message.getType());
/** The states of all tool calls as they were sent, one after the other. */
const statuses = ({ events }: TestWorkflow): string[] =>
  events.flatMap((event) => (event.type === "tool_status" ? [event.status] : []));
const lastText = (messages: BaseMessage[]) => messages.at(-1)?.text;

describe("the loop", () => {
  it("calls the model, runs its tools, feeds the results back, and ends at the first plain answer", async () => {
    const flow = await start({
      files: { "notes.md": "seven lines" },
      script: [reads("notes.md"), { text: "It says seven lines." }],
    });
    const state = await flow.send("What do the notes say?");
    expect(kinds(state.messages)).toEqual(["human", "ai", "tool", "ai"]);
    expect(lastText(state.messages)).toBe("It says seven lines.");
    expect(flow.model.requests[1]?.messages.map((message) => message.role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
    ]);
    expect(wireText(flow.model.requests[1]?.messages[3] ?? { role: "none" })).toContain("seven lines");
    // Clients receive the call with its arguments, and of its result (STATE-06).
    const call = { tool_call_id: expect.any(String), tool_name: "read_file" };
    expect(flow.events.filter(({ type }) => type.startsWith("agentic_loop.tool_"))).toEqual([
      { type: "agentic_loop.tool_called", ...call, arguments: { path: "notes.md" } },
      { type: "agentic_loop.tool_result", ...call, success: true, result_preview: expect.stringContaining("notes.md") },
    ]);
    flow.model.assertFinished();
  });

  it("shows the model the same system text in every iteration of a run", async () => {
    const flow = await start({ files: { a: "1" }, script: [reads("a"), reads("a"), { text: "done" }] });
    await flow.send("Look at a");
    const systems = flow.model.requests.map((request) => wireText(request.messages[0] ?? { role: "none" }));
    expect(new Set(systems).size).toBe(1);
  });

  it("runs independent calls of one reply and gives each exactly one result, in the order of the calls", async () => {
    const flow = await start({
      files: { a: "first", b: "second" },
      script: [
        {
          toolCalls: [
            { name: "read_file", arguments: { path: "a" }, id: "one" },
            { name: "read_file", arguments: { path: "b" }, id: "two" },
          ],
        },
        { text: "done" },
      ],
    });
    const { messages } = await flow.send("Read both");
    const results = messages.filter(isToolMessage);
    expect(results.map((result) => result.tool_call_id)).toEqual(["one", "two"]);
    expect(results.map((result) => result.text)).toEqual([
      expect.stringContaining("first"),
      expect.stringContaining("second"),
    ]);
  });

  it("answers broken arguments, missing parameters and unknown tools to the model, and goes on", async () => {
    const flow = await start({
      script: [
        { toolCalls: [{ name: "read_file", arguments: "{path: " }] },
        { toolCalls: [{ name: "read_file", arguments: {} }] },
        { toolCalls: [{ name: "fly_away", arguments: {} }] },
        { text: "I could not." },
      ],
    });
    const { messages } = await flow.send("Look at it");
    const results = messages.filter(isToolMessage).map((message) => message.text);
    expect(results).toHaveLength(3);
    expect(results[1]).toContain("path");
    expect(results[2]).toContain("read_file");
    expect(messages.filter(isToolMessage).every((message) => message.status === "error")).toBe(true);
    // As run errors and HTTP errors, each says its kind, whether something can be done, and what (ERR-01).
    expect(messages.filter(isToolMessage).map(({ additional_kwargs }) => additional_kwargs)).toMatchObject([
      { errorType: "invalid_parameter", recoverable: true, suggestion: expect.stringContaining("Example") },
      { errorType: "missing_parameter", recoverable: true, suggestion: expect.stringContaining("Example") },
      { errorType: "tool_not_found", recoverable: true },
    ]);
    expect(statuses(flow).filter((status) => status === "failed")).toHaveLength(3);
    expect(lastText(messages)).toBe("I could not.");
  });

  it("runs only as many calls of one reply as the limit says, and says so of the others", async () => {
    const toolCalls = Array.from({ length: 7 }, () => ({ name: "list_files", arguments: {} }));
    const flow = await start({ script: [{ toolCalls }, { text: "done" }] });
    const { messages } = await flow.send("Look around", { limits: { max_tool_calls_per_turn: 5 } });
    const results = messages.filter(isToolMessage);
    expect(results.map((result) => result.additional_kwargs["code"] === "TOO_MANY_CALLS")).toEqual([
      false,
      false,
      false,
      false,
      false,
      true,
      true,
    ]);
  });

  it("cuts a long result with a visible mark", async () => {
    const search = { toolCalls: [{ name: "search_content", arguments: { path: ".", regex: "x" } }] };
    const files = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`f${at}`, "x".repeat(400)]));
    const flow = await start({ files, script: [search, { text: "long" }] });
    const { messages } = await flow.send("Look at big", { limits: { tool_result_max_length: 1000 } });
    const text = messages.find(isToolMessage)?.text ?? "";
    expect(text.length).toBeLessThan(1200);
    expect(text).toMatch(/cut: \d+ of \d+ characters/u);
  });

  it("warns when rounds run out and answers without tools at the limit", async () => {
    const flow = await start({
      files: { a: "1" },
      handler: (request) => (mayCall(request) ? reads("a") : { text: "So far: 1." }),
    });
    const { messages } = await flow.send("Look at a", { limits: { max_iterations: 4, soft_warning_at: 3 } });
    expect(flow.model.requests).toHaveLength(4);
    const notes = flow.model.requests.map((request) => wireText(request.messages.at(-1) ?? { role: "none" }));
    expect(notes[2]).toContain("2 are left");
    expect(notes[3]).toContain("limit of rounds");
    expect(lastText(messages)).toBe("So far: 1.");
    expect(flow.events).toContainEqual(
      expect.objectContaining({ type: "agentic_loop.complete", end_reason: "iteration_limit" }),
    );
  });

  it("gets the used and remaining rounds after nine tenths of the limit (GUARD-05)", async () => {
    const files = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`${index}`, `line ${index}`]));
    const flow = await start({
      files,
      handler: (request) => (mayCall(request) ? reads(`${request.index}`) : { text: "All are read." }),
    });
    await flow.send("Read the files one by one", { mode: "free_work", limits: { max_iterations: 20 } });
    // More steps than LangGraph's own limit of 25, which this workflow leaves as it is (LOOP-04).
    expect(flow.model.requests).toHaveLength(20);
    const notes = flow.model.requests.map((request) => wireText(request.messages.at(-1) ?? { role: "none" }));
    expect(notes.slice(0, 17).filter((note) => note.includes("rounds are used"))).toEqual([]);
    expect(notes.slice(17, 19)).toEqual(
      [17, 18].map((used) => expect.stringMatching(`${used} rounds are used, ${20 - used} are left.*answer`)),
    );
    expect(notes[19]).toContain("limit of rounds");
  });

  it("answers from what it knows when the model has nothing to say at the limit", async () => {
    const flow = await start({
      files: { a: "one" },
      handler: (request) => (mayCall(request) ? reads("a") : { text: "" }),
    });
    const { messages } = await flow.send("Look at a", { limits: { max_iterations: 2 } });
    expect(lastText(messages)).toContain("limit of rounds");
    expect(lastText(messages)).toContain("read_file");
  });

  it("keeps what was done and says why when the model fails later in the turn", async () => {
    const flow = await start({
      files: { a: "one" },
      script: [reads("a"), { fault: { kind: "status", status: 401, message: "bad key" } }],
    });
    const { messages } = await flow.send("Look at a");
    expect(kinds(messages)).toEqual(["human", "ai", "tool", "ai"]);
    expect(lastText(messages)).toContain("could not be asked again");
    expect(flow.events).toContainEqual(expect.objectContaining({ type: "agentic_loop.error", error_type: "auth" }));
  });

  it("fails the run with a clear error when the model fails before anything was done", async () => {
    const flow = await start({ script: [{ fault: { kind: "status", status: 401, message: "bad key" } }] });
    await expect(flow.send("Hello you there, what can you do?")).rejects.toMatchObject({ code: "auth" });
    expect(kinds((await flow.state()).messages)).toEqual(["human"]);
  });

  it("gives messages and calls ids of their own when a server repeats them", async () => {
    const flow = await start({
      files: { a: "1" },
      script: [reads("a", "call_0"), reads("a", "call_0"), { text: "done" }],
    });
    const { messages } = await flow.send("Look at a");
    expect(kinds(messages)).toEqual(["human", "ai", "tool", "ai", "tool", "ai"]);
    expect(new Set(messages.map((message) => message.id)).size).toBe(messages.length);
    expect((await flow.services.ledger.list("session-1")).map((row) => row.state)).toEqual(["finished", "finished"]);
  });

  it("gives calls ids of their own when a server counts those of each reply anew, in later turns too", async () => {
    const flow = await start({
      files: { a: "1", b: "2" },
      script: [reads("a", "call_0"), reads("b", "call_0"), { text: "done" }, reads("b", "call_0"), { text: "again" }],
    });
    await flow.send("Look at a and b");
    const { messages } = await flow.send("Look at b again");
    const asked = messages.flatMap((message) => (isAIMessage(message) ? (message.tool_calls ?? []) : []));
    const ids = asked.map(({ id }) => id);
    expect([ids[0], new Set(ids).size]).toEqual(["call_0", 3]);
    expect(messages.filter(isToolMessage).map((result) => result.tool_call_id)).toEqual(ids);
    expect(
      flow.model.requests
        .at(-1)
        ?.messages.flatMap(({ tool_calls }) => tool_calls ?? [])
        .map(({ id }) => id),
    ).toEqual(ids);
  });

  it("emits its phases in the allowed order, with the turn's state (STATE-05)", async () => {
    const flow = await start({ files: { a: "1" }, script: [reads("a"), { text: "done" }] });
    await flow.send("Look at a");
    const changes = flow.events.filter((event) => event.type === "agentic_loop.state_changed");
    expect(changes.map(({ from_state, to_state }) => [from_state, to_state])).toEqual([
      ["idle", "preparing"],
      ["preparing", "calling_llm"],
      ["calling_llm", "streaming"],
      ["streaming", "parsing"],
      ["parsing", "executing"],
      ["executing", "waiting_tool"],
      ["waiting_tool", "aggregating"],
      ["aggregating", "calling_llm"],
      ["calling_llm", "streaming"],
      ["streaming", "parsing"],
      ["parsing", "complete"],
    ]);
    expect(changes.map(({ iteration }) => iteration)).toEqual([1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
    expect(new Set(changes.map(({ context }) => `${context.node} ${context.turn_state}`))).toEqual(
      new Set(["free_work plan", "free_work tool_call", "free_work tool_result", "free_work decide"]),
    );
  });
});

describe("confirmation", () => {
  const deletes: ModelStep = { toolCalls: [{ name: "delete_file", arguments: { path: "old" }, id: "gone" }] };
  const files = { "old/a.txt": "a", "old/b.txt": "b" };
  const exists = async (flow: TestWorkflow, path: string) =>
    await access(join(flow.workspace, path)).then(
      () => true,
      () => false,
    );

  it("waits before deleting a non-empty folder, and deletes it after approval", async () => {
    const flow = await start({ files, script: [deletes, { text: "Deleted." }] });
    await flow.send("delete the folder old");
    expect(await flow.interrupts()).toEqual([
      { id: expect.any(String), value: expect.objectContaining({ kind: "confirmation", tool_call_id: "gone" }) },
    ]);
    expect(await exists(flow, "old/a.txt")).toBe(true);
    const state = await flow.answer({ decisions: [{ type: "approve" }] });
    expect(await exists(flow, "old")).toBe(false);
    expect(lastText(state.messages)).toBe("Deleted.");
    expect(flow.model.requests).toHaveLength(2);
  });

  it("changes nothing after a refusal, and gives the model the reason", async () => {
    const flow = await start({ files, script: [deletes, { text: "Then not." }] });
    await flow.send("delete the folder old");
    const { messages } = await flow.answer({ decisions: [{ type: "reject", message: "still needed" }] });
    expect(await exists(flow, "old/a.txt")).toBe(true);
    expect(messages.find(isToolMessage)?.text).toContain("still needed");
    expect(statuses(flow)).toEqual(["pending", "awaiting_confirmation", "executing", "blocked"]);
  });

  it("runs edited arguments instead", async () => {
    const flow = await start({ files, script: [deletes, { text: "Deleted one." }] });
    await flow.send("delete the folder old");
    await flow.answer({
      decisions: [{ type: "edit", edited_action: { name: "delete_file", args: { path: "old/b.txt" } } }],
    });
    expect(await exists(flow, "old/a.txt")).toBe(true);
    expect(await exists(flow, "old/b.txt")).toBe(false);
  });

  it("asks again after an answer that says neither, and says what it expected", async () => {
    const flow = await start({ files, script: [deletes, { text: "Deleted." }] });
    await flow.send("delete the folder old");
    await flow.answer("perhaps");
    expect((await flow.interrupts())[0]?.value).toMatchObject({ problem: expect.stringContaining("Expected") });
    await flow.answer("yes");
    expect(await exists(flow, "old")).toBe(false);
  });

  it("asks once per call, and approving one does not run the other", async () => {
    const both: ModelStep = {
      toolCalls: [
        { name: "delete_file", arguments: { path: "old" }, id: "first" },
        { name: "delete_file", arguments: { path: "new" }, id: "second" },
      ],
    };
    const flow = await start({ files: { ...files, "new/c.txt": "c" }, script: [both, { text: "One of two." }] });
    await flow.send("tidy up");
    const pending = await flow.interrupts();
    expect(pending).toHaveLength(2);
    const answers = Object.fromEntries(
      pending.map(({ id, value }) => [id, JSON.stringify(value).includes('"first"') ? "yes" : "no"]),
    );
    const { messages } = await flow.answer(answers);
    expect(await exists(flow, "old")).toBe(false);
    expect(await readFile(join(flow.workspace, "new/c.txt"), "utf8")).toBe("c");
    expect(messages.filter(isToolMessage).map((message) => message.status)).toEqual(["success", "error"]);
    expect(messages.filter(isAIMessage)).toHaveLength(2);
  });
});

describe("a session that waits for a confirmation", () => {
  const waiting = { state: "decide", requires_confirm: true, last_tool: null, last_result_summary: null } as const;

  it("calls no tool before the user has said yes", async () => {
    const flow = await start({
      files: { a: "1" },
      script: [{ text: "Hello." }, reads("a"), { text: "Shall I?" }, reads("a"), { text: "It is 1." }],
    });
    await flow.send("hello there, my friend");
    await flow.update({ orchestration: waiting });
    const refused = await flow.send("Look at a");
    expect(refused.messages.find(isToolMessage)?.text).toContain("confirmation");
    expect(refused.orchestration.requires_confirm).toBe(true);
    const confirmed = await flow.send("yes", { mode: "free_work" });
    expect(confirmed.messages.findLast(isToolMessage)?.text).toContain("1");
    expect(confirmed.orchestration.requires_confirm).toBe(false);
  });
});
