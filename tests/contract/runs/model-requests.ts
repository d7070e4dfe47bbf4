import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { ModelRequest } from "@millrace/engine/storage/record-stores";
import { sessionRecord, type StorageFixture } from "../records.ts";

const tools = [{ type: "function", function: { name: "read_file", parameters: { type: "object" } } }];

function requestOf(changes: Partial<ModelRequest> = {}): ModelRequest {
  return {
    session_id: "s1",
    run_id: "r1",
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

/** What the model was last sent (CTX-19). */
export function describeModelRequests(fixture: StorageFixture): void {
  describe("requests to models", () => {
    it("are kept as they were sent, the last of each node, over a restart", async () => {
      const { sessions, requests } = fixture.storage;
      await sessions.create(sessionRecord("s1"));
      expect(await requests.last("s1")).toBeUndefined();
      await requests.note(requestOf({ asked_at: "2026-01-01T00:00:00.000Z" }));
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
      await requests.note(last);
      const silent = requestOf({ node: "plan", is_silent: true, tools: [], asked_at: "2026-01-01T00:00:02.000Z" });
      await requests.note(silent);
      const after = (await fixture.reopen()).requests;
      expect(asData(await after.last("s1"))).toEqual(asData(last));
      expect((await after.last("s1"))?.messages[1]).toMatchObject({ tool_calls: [call] });
      expect(asData(await after.last("s1", "plan"))).toEqual(asData(silent));
      expect(await after.last("s1", "action")).toBeUndefined();
    });

    it("go with their session, and are not kept without one", async () => {
      const { sessions, requests } = fixture.storage;
      for (const id of ["s1", "s2"]) await sessions.create(sessionRecord(id));
      for (const session_id of ["s1", "s2", "unknown"]) await requests.note(requestOf({ session_id }));
      await sessions.delete("s1");
      expect(await requests.last("s1")).toBeUndefined();
      expect(await requests.last("unknown")).toBeUndefined();
      expect(asData(await requests.last("s2"))?.head.system).toBe("You are here.");
    });
  });
}
