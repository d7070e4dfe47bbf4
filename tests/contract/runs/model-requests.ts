import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { callsKept, type ModelRequest } from "@millrace/engine/storage/record-stores";
import { sessionRecord, type StorageFixture, writer } from "../records.ts";

const tools = [{ type: "function", function: { name: "read_file", parameters: { type: "object" } } }];

/** A request to a model with the given `changes`. */
export function requestOf(changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    session_id: "s1",
    run_id: "r1",
    model_call_id: "c1",
    node: "free_work",
    is_silent: false,
    model: "openai:scripted",
    temperature: 0.5,
    thinking: true,
    max_tokens: 300,
    tool_protocol: "text",
    forced_tool: null,
    asked_at: new Date().toISOString(),
    head: {
      system: "You are here.",
      parts: [{ name: "identity", section: "system_prompt", characters: 13 }],
      documentation: [new HumanMessage("Read this."), new AIMessage("Read.")],
    },
    messages: [new HumanMessage({ id: "m1", content: "look" })],
    tools,
    ...changes,
  };
}

const plain = (messages: readonly BaseMessage[]) =>
  messages.map((message) => [message.type, message.id, message.content, message.additional_kwargs]);
const asData = (request: ModelRequest | undefined) =>
  request && {
    ...request,
    messages: plain(request.messages),
    head: { ...request.head, documentation: plain(request.head.documentation) },
  };

/** The last requests to the model (CTX-19). */
export function describeModelRequests(fixture: StorageFixture): void {
  describe("requests to models", () => {
    it("are stored as they were sent, the last one of each node, also over a restart", async () => {
      const { sessions, requests } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      expect(await requests.last("s1")).toBeUndefined();
      await writer(fixture.storage, "r1").requests.record(requestOf({ asked_at: "2026-01-01T00:00:00.000Z" }));
      const call = { id: "c1", name: "read_file", args: { path: "a" } };
      const last = requestOf({
        asked_at: "2026-01-01T00:00:01.000Z",
        forced_tool: "read_file",
        messages: [
          new HumanMessage({ id: "m1", content: "look" }),
          new AIMessage({ id: "m2", content: "", tool_calls: [call], additional_kwargs: { reasoning_content: "hm" } }),
          new ToolMessage({ tool_call_id: "c1", content: "found", status: "error" }),
          new HumanMessage("Only for this call."),
        ],
      });
      await writer(fixture.storage, "r1").requests.record(last);
      const silent = requestOf({ node: "plan", is_silent: true, tools: [], asked_at: "2026-01-01T00:00:02.000Z" });
      await writer(fixture.storage, "r1").requests.record(silent);
      const after = (await fixture.reopen()).requests;
      expect(asData(await after.last("s1"))).toEqual(asData(last));
      expect((await after.last("s1"))?.messages[1]).toMatchObject({ tool_calls: [call] });
      expect(asData(await after.last("s1", "plan"))).toEqual(asData(silent));
      expect(await after.last("s1", "action")).toBeUndefined();
    });

    it("are stored one by one: the newest of a run and of a session, and always the last of each node", async () => {
      const { sessions } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      const note = (run_id: string, node: string, system: string) =>
        writer(fixture.storage, "r1").requests.record(
          requestOf({ run_id, node, head: { system, parts: [], documentation: [] } }),
        );
      await note("r1", "plan", "the plan");
      for (let count = 1; count <= callsKept.ofRun + 3; count += 1) await note("r1", "free_work", `call ${count}`);
      await note("r2", "free_work", "the next run");
      const { requests: after } = await fixture.reopen();
      const calls = await after.calls("s1", "r1");
      expect(calls.map(({ number }) => number)).toEqual([
        ...Array.from({ length: callsKept.ofRun }, (_, index) => callsKept.ofRun + 4 - index),
        1,
      ]);
      expect(calls.at(-1)).toMatchObject({ node: "plan", is_silent: false, run_id: "r1", model_call_id: "c1" });
      const newest = await after.call("s1", "r2", 1);
      expect(newest?.request.head.system).toBe("the next run");
      expect(newest?.before).toEqual({ run_id: "r1", number: callsKept.ofRun + 4 });
      expect((await after.call("s1", "r1", callsKept.ofRun + 4))?.before?.number).toBe(callsKept.ofRun + 3);
      expect((await after.call("s1", "r1", 1))?.before).toBeUndefined();
      for (const [session, run, number] of [
        ["s1", "r1", 2],
        ["s1", "r2", 2],
        ["s2", "r1", 1],
      ] as const) {
        expect(await after.call(session, run, number)).toBeUndefined();
      }
      expect((await after.last("s1", "plan"))?.head.system).toBe("the plan");
      for (let run = 0; run < callsKept.ofSession + 5; run += 1) {
        await writer(fixture.storage, "r1").requests.record(requestOf({ run_id: `many-${run}`, messages: [] }));
      }
      expect(await after.calls("s1", "r2")).toEqual([]);
      expect(await after.calls("s1", "many-4")).toEqual([]);
      expect(await after.calls("s1", "many-7")).toHaveLength(1);
      expect((await after.last("s1", "plan"))?.head.system).toBe("the plan");
    });

    it("are deleted with their session, and are not stored without one", async () => {
      const { sessions, requests } = fixture.storage;
      for (const id of ["s1", "s2"]) await sessions.create(sessionRecord(id));
      for (const session_id of ["s1", "s2", "unknown"])
        await writer(fixture.storage, "r1").requests.record(requestOf({ session_id }));
      await sessions.delete("s1");
      expect(await requests.last("s1")).toBeUndefined();
      expect(await requests.last("unknown")).toBeUndefined();
      expect(asData(await requests.last("s2"))?.head.system).toBe("You are here.");
    });
  });
}
