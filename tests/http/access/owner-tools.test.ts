import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { toolkits } from "../../../src/toolkits/index.ts";
import { toolsOfOwner } from "../../../src/toolkits/tools-of-owner.ts";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer({ script: [] });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    apiKeys: ["guest", "ann"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    ownerTools: { guest: ["files", "list_code_definition_names"] },
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
});

const Values = z.looseObject({ messages: z.array(z.looseObject({ type: z.string(), content: z.string() })) });
const Thread = z.looseObject({ thread_id: z.string() });
const creates: ModelStep = { toolCalls: [{ name: "write_to_file", arguments: { path: "a.txt", content: "A" } }] };
const named = (context: object) => ({ mode: "free_work", ...context });

/** The requests of one owner. */
function as(owner: string) {
  const headers = { "x-api-key": `key-of-${owner}` };
  const send = (method: string, path: string, body?: unknown) => server.send(method, path, body, headers);
  return {
    send,
    thread: async () => Thread.parse(await (await send("POST", "/threads", {})).json()).thread_id,
    async run(threadId: string, context: object): Promise<Response> {
      const input = { messages: [{ role: "user", content: "Work on it" }] };
      return send("POST", `/threads/${threadId}/runs/wait`, { assistant_id: "agent", input, context: named(context) });
    },
    tools: async () =>
      z
        .array(z.looseObject({ name: z.string() }))
        .parse(await (await send("GET", "/tools")).json())
        .map(({ name }) => name),
  };
}

describe("tools that an owner may not use (TOOL-13)", () => {
  it("are not offered to the model in their runs, nor executed when it calls them", async () => {
    const guest = as("guest");
    model.push(creates, { text: "I cannot." });
    const { messages } = Values.parse(await (await guest.run(await guest.thread(), {})).json());
    const offered = model.requests.at(-1)?.toolNames ?? [];
    expect(offered).toEqual(expect.arrayContaining(["read_file", "edit_file", "write_todos"]));
    expect(offered).not.toContain("write_to_file");
    expect(messages.find(({ type }) => type === "tool")?.content).toContain("tool_not_found");

    const ann = as("ann");
    model.push(creates, { text: "Done." });
    const others = Values.parse(await (await ann.run(await ann.thread(), {})).json()).messages;
    expect(others.find(({ type }) => type === "tool")?.content).toContain("a.txt");
  });

  it("are not listed, and can neither be named by a run, chosen for it, nor run by hand", async () => {
    const guest = as("guest");
    const thread = await guest.thread();
    for (const context of [{ tools: ["write_to_file"] }, { selected_tool: "write_to_file" }]) {
      expect(await (await guest.run(thread, context)).text()).toContain("write_to_file");
    }
    expect(model.unexpected).toEqual([]);
    const byHand = await guest.send("POST", `/threads/${thread}/tools/write_to_file/run`, {
      args: { path: "b.txt", content: "B" },
    });
    expect(byHand.status).toBe(404);
    expect(await guest.tools()).not.toContain("write_to_file");
    expect(await guest.tools()).toContain("list_code_definition_names");
    expect(await as("ann").tools()).toContain("write_to_file");
  });
});

describe("the tools of an owner", () => {
  const enabled = toolkits;

  it("are all tools for an owner without an entry, and without keys", () => {
    expect(toolsOfOwner({ guest: [] }, "ann", enabled)).toBeUndefined();
    expect(toolsOfOwner({ guest: [] }, null, enabled)).toBeUndefined();
    expect(toolsOfOwner({ guest: [] }, "constructor", enabled)).toBeUndefined();
    expect(toolsOfOwner({ guest: [] }, "user:ann", enabled)).toBeUndefined();
    expect(toolsOfOwner({ guest: [] }, "user:guest", enabled)).toBeDefined();
  });

  it("are those that every conversation needs, for an owner with an empty entry", () => {
    const allowed = toolsOfOwner({ guest: [] }, "guest", enabled);
    const always = enabled.filter((toolkit) => toolkit.enabled === "always").flatMap(({ tools }) => tools);
    expect([...(allowed ?? [])].toSorted()).toEqual(always.map(({ name }) => name).toSorted());
  });

  it("may be single tools, also of MCP servers that are not connected yet", () => {
    expect(toolsOfOwner({ guest: ["weather_now"] }, "guest", enabled)?.has("weather_now")).toBe(true);
  });

  it("are read from the environment, and errors there are reported", () => {
    const { ownerTools } = loadConfig({ MILLRACE_OWNER_TOOLS: "guest: files list_code_definition_names, kiosk:" });
    expect(ownerTools).toEqual({ guest: ["files", "list_code_definition_names"], kiosk: [] });
    const ofUsers = loadConfig({ MILLRACE_OWNER_TOOLS: "ann@example.org:files, https://id.example.org/7: web" });
    expect(ofUsers.ownerTools).toEqual({ "ann@example.org": ["files"], "https://id.example.org/7": ["web"] });
    expect(() => loadConfig({ MILLRACE_OWNER_TOOLS: "guest" })).toThrow(/entry 1: expected owner:name/u);
    expect(() => loadConfig({ MILLRACE_OWNER_TOOLS: "a:files,a:web" })).toThrow(/entry 2: a has an entry already/u);
  });
});
