import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { startModelServer, wireText, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

/** A model without native tool calls, on the scripted server. */
const textModel = "ollama:deepseek-coder:6.7b";
const Message = z.looseObject({
  type: z.string(),
  content: z.string(),
  name: z.string().nullish(),
  status: z.string().nullish(),
  tool_calls: z.array(z.looseObject({ name: z.string(), args: z.record(z.string(), z.unknown()) })).optional(),
});
const MessageChunk = z.looseObject({
  type: z.string(),
  content: z.string(),
  additional_kwargs: z.looseObject({ reasoning_content: z.string().optional() }),
});
const State = z.looseObject({ messages: z.array(Message) });
const marks = /<\/?(?:tool_use|invoke|parameter|thinking)|delete_file/u;

let server: TestServer;
let model: ModelServer;

async function start(...script: ModelStep[]): Promise<void> {
  model = await startModelServer({ script });
  const graphs = join(projectFolder, "langgraph.json");
  server = await startTestServer({ graphs, ollamaBaseUrl: model.ollamaUrl, model: textModel });
}
afterEach(async () => {
  await server.remove();
  await model.close();
});

const call = (name: string, args: Record<string, string>): string =>
  [
    "<tool_use>",
    `<invoke name="${name}">`,
    ...Object.entries(args).map(([key, value]) => `<parameter name="${key}">${value}</parameter>`),
    "</invoke>",
    "</tool_use>",
  ].join("\n");
/** A reply that arrives three characters at a time, with the usage of the whole prompt. */
const says = (text: string): ModelStep => ({
  chunks: text.match(/[^]{1,3}/gu) ?? [],
  usage: { input: 9000, output: 9 },
});

/** Sends a message and returns the streamed text and reasoning of the model. */
async function streamReply(threadId: string, words: string): Promise<{ text: string; reasoning: string }> {
  const streamed = { text: "", reasoning: "" };
  const input = { messages: [{ role: "user", content: words }] };
  const context = { mode: "free_work" };
  const streamMode = ["messages-tuple" as const];
  for await (const event of server.client.runs.stream(threadId, "agent", {
    input,
    context,
    streamMode,
    streamSubgraphs: true,
  })) {
    const parsed = z.tuple([MessageChunk, z.unknown()]).safeParse(event.data);
    if (!parsed.success || parsed.data[0].type !== "ai") continue;
    streamed.text += parsed.data[0].content;
    streamed.reasoning += parsed.data[0].additional_kwargs.reasoning_content ?? "";
  }
  return streamed;
}

async function messages(threadId: string): Promise<z.infer<typeof Message>[]> {
  return State.parse((await server.client.threads.getState(threadId)).values).messages;
}

const roles = (index: number): string[] => model.requests[index]?.messages.map(({ role }) => role) ?? [];
const sent = (index: number, at: number): string =>
  wireText(model.requests[index]?.messages.at(at) ?? { role: "none" });

describe("a model that writes its calls as text", () => {
  it("works with approval like any other, and no tag is streamed", async () => {
    await start(
      says(`<thinking>Which one?</thinking>I delete it.\n\n${call("delete_file", { path: "old.txt" })}`),
      says("It is gone."),
    );
    const file = join(server.config.workspace, "old.txt");
    await writeFile(file, "x");
    const { thread_id } = await server.client.threads.create();
    const streamed = await streamReply(thread_id, "Tidy up here");
    expect(streamed).toEqual({ text: "I delete it.\n\n", reasoning: "Which one?" });
    await access(file);

    const asked = z
      .array(z.looseObject({ id: z.string(), tool: z.string(), args: z.unknown() }))
      .parse(await (await server.send("GET", `/threads/${thread_id}/approvals`)).json());
    expect(asked).toMatchObject([{ tool: "delete_file", args: { path: "old.txt" } }]);
    await server.send("POST", `/threads/${thread_id}/approvals/${asked[0]?.id}`, { type: "approve" });
    for (const run of await server.client.runs.list(thread_id)) await server.client.runs.join(thread_id, run.run_id);
    await expect(access(file)).rejects.toThrow("ENOENT");

    const stored = await messages(thread_id);
    expect(stored.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(stored[1]).toMatchObject({
      content: "I delete it.\n\n",
      tool_calls: [{ name: "delete_file", args: { path: "old.txt" } }],
    });
    expect(stored.map(({ content }) => content).join("\n")).not.toMatch(/<tool_use|<invoke|<thinking/u);
    expect(streamed.text).not.toMatch(marks);

    expect(model.requests.map(({ toolNames }) => toolNames)).toEqual([[], []]);
    expect(sent(0, 0)).toContain("### delete_file");
    expect(roles(1).slice(-3)).toEqual(["user", "assistant", "user"]);
    expect(sent(1, -2)).toBe(`I delete it.\n\n${call("delete_file", { path: "old.txt" })}`);
    expect(sent(1, -1)).toContain('<tool_result name="delete_file" success="true">');
    model.assertFinished();
  });

  it("gets an error for an invalid call, and writes it again (XML-11)", async () => {
    await start(
      says('Here: <tool_use><invoke name="create_file">new.txt</invoke></tool_use>'),
      says(call("create_file", { path: "new.txt", content: "<b>\n1 & 2\n</b>" })),
      says("Made."),
    );
    const { thread_id } = await server.client.threads.create();
    expect((await streamReply(thread_id, "Create new.txt")).text).toBe("Here: Made.");
    expect(await readFile(join(server.config.workspace, "new.txt"), "utf8")).toBe("<b>\n1 & 2\n</b>");
    expect(sent(1, -2)).toBe('Here:\n\n<invoke name="create_file">');
    expect(sent(1, -1)).toContain('success="false"');
    expect(sent(1, -1)).toContain('could not be read: Expected <parameter name="…">value</parameter> or </invoke>.');
    model.assertFinished();
  });

  it("has several calls of one reply executed one after the other (XML-10)", async () => {
    const content = (text: string): Record<string, string> => ({ path: "log.txt", content: text });
    await start(
      says(`${call("create_file", content("one"))}\n${call("read_file", { path: "log.txt" })}`),
      says("Read."),
    );
    const { thread_id } = await server.client.threads.create();
    await streamReply(thread_id, "Create log.txt and read it");
    const results = (await messages(thread_id)).filter(({ type }) => type === "tool");
    expect(results.map(({ name, status }) => [name, status])).toEqual([
      ["create_file", "success"],
      ["read_file", "success"],
    ]);
    expect(results[1]?.content).toContain("one");
    model.assertFinished();
  });
});
