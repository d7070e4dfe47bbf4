import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startModelServer, wireText, type ModelRequest, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

let model: ModelServer;
let server: TestServer;
beforeAll(async () => {
  model = await startModelServer({ handler: () => ({ text: "That is all there is to say about it." }) });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:usual",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
});

const Values = z.looseObject({
  work_mode: z.string(),
  chat_mode: z.string(),
  messages: z.array(z.looseObject({ type: z.string(), additional_kwargs: z.record(z.string(), z.unknown()) })),
});

/** The model request of a run with these fields, and its final state. */
async function start(
  context: object,
  message: object = {},
): Promise<{ request: ModelRequest; system: string; values: z.infer<typeof Values> }> {
  const { thread_id } = await server.client.threads.create();
  const input = { messages: [{ role: "user", content: "Tell me about the wheel", ...message }] };
  const body = { assistant_id: "agent", input, context: { mode: "free_work", ...context } };
  const response = await server.send("POST", `/threads/${thread_id}/runs/wait`, body);
  const values = Values.parse(await response.json());
  const request = model.requests.at(-1);
  if (request === undefined) throw new Error("no model was asked");
  const first = request.messages[0];
  return { request, values, system: first?.role === "system" ? wireText(first) : "" };
}

describe("a run may start with", () => {
  it("a text", async () => {
    const { request } = await start({});
    expect(wireText(request.messages.at(-1) ?? { role: "user" })).toContain("Tell me about the wheel");
    expect(request.body.model).toBe("usual");
  });

  it("attachments, which stay with the message", async () => {
    const attachment = { type: "file", path: "notes.md", name: "notes.md", mime_type: "text/markdown", size: 3 };
    const { values } = await start({}, { attachments: [attachment] });
    const message = values.messages.find(({ type }) => type === "human");
    expect(message?.additional_kwargs["attachments"]).toEqual([attachment]);
  });

  it("references, completely", async () => {
    const content = `a wheel of oak ${"and more ".repeat(400)}`.trim();
    const { system } = await start({ references: [{ type: "text", source: "book.md", content }] });
    expect(system).toContain(content);
  });

  it("the content of the editor", async () => {
    const { system } = await start({ document: { path: "mill.md", selected_text: "the sluice gate" } });
    expect(system).toContain("mill.md");
    expect(system).toContain("the sluice gate");
  });

  it.each(["free_chat", "workflow"])("the work mode %s", async (work_mode) => {
    expect((await start({ work_mode })).values.work_mode).toBe(work_mode);
  });

  it("the chat mode: without tools in chat and with all tools in agent", async () => {
    const chat = await start({ chat_mode: "chat", mode: undefined });
    expect(chat.request.toolNames).toEqual([]);
    expect((await start({ chat_mode: "agent" })).request.toolNames).toContain("read_file");
  });

  it("a selected tool, which the model has to call first", async () => {
    const before = model.requests.length;
    await start({ selected_tool: "list_files", mode: undefined });
    const asked = model.requests[before];
    expect(asked?.toolNames).toContain("list_files");
    expect(JSON.stringify(asked?.body["tool_choice"])).toContain("list_files");
  });

  it("a model of a provider, a temperature and a maximum length of the reply", async () => {
    const { request } = await start({ model: "openai:another", temperature: 0.3, max_tokens: 77 });
    expect(request.body).toMatchObject({ model: "another", temperature: 0.3, max_tokens: 77 });
  });

  it("a tool protocol: native calls, or calls in the model's text", async () => {
    const native = await start({ tool_protocol: "native" });
    expect(native.request.toolNames).toContain("read_file");
    expect(native.system).not.toContain("<tool_use>");
    const text = await start({ tool_protocol: "text" });
    expect(text.request.toolNames).toEqual([]);
    expect(text.system).toContain('<invoke name="');
    const tags = await start({ tool_protocol: "tags" });
    expect(tags.request.toolNames).toEqual([]);
    expect(tags.system).toContain("<read_file>");
  });

  it("a system text of the client, which is protected like an identity", async () => {
    const { system } = await start({ system: "You are the miller of Oakham." });
    expect(system).toContain("You are the miller of Oakham.");
    expect(system.length).toBeGreaterThan("You are the miller of Oakham.".length + 100);
  });

  it.each([
    { tool_protocol: "smoke" },
    { max_tokens: 0 },
    { tool_policy: "wild" },
    { web_search: "maybe" },
    { thinking: "hard" },
  ])("no unknown field: %j", async (wrong) => {
    const { thread_id } = await server.client.threads.create();
    const body = { assistant_id: "agent", input: { messages: [{ role: "user", content: "x" }] }, context: wrong };
    const [name = ""] = Object.keys(wrong);
    const text = await (await server.send("POST", `/threads/${thread_id}/runs/wait`, body)).text();
    expect(text).toContain("invalid_parameter");
    expect(text).toContain(name);
  });
});
