import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { agentFiles, hands, scriptsOf } from "../../agents/agent-flow.ts";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const Agents = z.array(
  z.looseObject({
    thread_id: z.string(),
    run_id: z.string(),
    name: z.string(),
    status: z.string(),
    report: z.looseObject({ reply: z.string(), success: z.boolean() }).nullable(),
  }),
);
const Waiting = z.array(
  z.looseObject({ id: z.string(), thread_id: z.string(), kind: z.string(), tool: z.string().nullable() }),
);

const ada = { "x-api-key": "key-of-ada" };
const bob = { "x-api-key": "key-of-bob" };
let model: ModelServer;
let server: TestServer;

beforeAll(async () => {
  const asks = { toolCalls: [{ name: "delete_file", arguments: { path: "old.txt" }, id: "delete" }] };
  model = await startModelServer({
    handler: scriptsOf({
      caller: [hands("background", { cleaner: "Remove old.txt. Yes, delete it." }), { text: "It works." }],
      cleaner: [asks, { text: "Removed." }],
    }),
  });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    openai,
    model: "openai:scripted",
    apiKeys: [
      { owner: "ada", key: "key-of-ada" },
      { owner: "bob", key: "key-of-bob" },
    ],
  });
  for (const [path, text] of Object.entries(agentFiles({ cleaner: {} }))) {
    const file = join(server.config.workspace, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  await writeFile(join(server.config.workspace, "old.txt"), "old");
});
afterAll(async () => {
  await server.remove();
  await model.close();
});

async function agentsOf(threadId: string): Promise<z.infer<typeof Agents>> {
  return Agents.parse(await (await server.send("GET", `/threads/${threadId}/agents`, undefined, ada)).json());
}

async function waitingIn(threadId: string): Promise<z.infer<typeof Waiting>> {
  return Waiting.parse(await (await server.send("GET", `/threads/${threadId}/approvals`, undefined, ada)).json());
}

/** A thread that has sent one agent to the background, which now waits for approval. */
async function send(): Promise<{ threadId: string; agent: z.infer<typeof Agents>[number] }> {
  const { thread_id } = await server.client.threads.create();
  const input = { messages: [{ role: "user", content: "Clean up" }] };
  await server.client.runs.wait(thread_id, "agent", { input, context: { mode: "free_work" } });
  const [agent] = await agentsOf(thread_id);
  if (agent === undefined) throw new Error("no agent was sent");
  await server.client.runs.join(agent.thread_id, agent.run_id);
  return { threadId: thread_id, agent };
}

it("an agent that waits for approval is listed, and the question is in the agent's own thread", async () => {
  const { threadId, agent } = await send();
  // The task says yes, but a model wrote it.
  expect((await agentsOf(threadId)).map(({ status, report }) => [status, report])).toEqual([["asking", null]]);
  const [question] = await waitingIn(agent.thread_id);
  expect(question).toMatchObject({ tool: "delete_file", thread_id: agent.thread_id });
  expect(await waitingIn(threadId)).toEqual([question]);

  const path = `/threads/${agent.thread_id}/approvals/${question?.id}`;
  expect((await server.send("POST", path, { type: "approve" }, ada)).status).toBe(200);
  const [first] = await agentsOf(threadId);
  await server.client.runs.join(agent.thread_id, first?.run_id ?? "");
  const [after] = await agentsOf(threadId);
  expect(after).toMatchObject({ name: "cleaner", status: "finished", report: { success: true, reply: "Removed." } });
});

it("an agent's question is also in the thread that sent it, over a restart, and can be answered there", async () => {
  const { threadId, agent } = await send();
  await server.close();
  server = await server.restart();
  const [question] = await waitingIn(threadId);
  expect(question?.thread_id).toBe(agent.thread_id);
  const path = `/threads/${threadId}/approvals/${question?.id}`;
  expect((await server.send("POST", path, { type: "approve" }, bob)).status).toBe(404);
  const answered = await server.send("POST", path, { type: "approve" }, ada);
  expect([answered.status, await answered.json()]).toEqual([200, expect.objectContaining({ repeated: false })]);
  const again = await server.send("POST", path, { type: "reject" }, ada);
  expect(await again.json()).toMatchObject({ repeated: true, decision: expect.anything() });
  const [first] = await agentsOf(threadId);
  await server.client.runs.join(agent.thread_id, first?.run_id ?? "");
  expect((await agentsOf(threadId))[0]).toMatchObject({ status: "finished", report: { success: true } });
  expect(await waitingIn(threadId)).toEqual([]);
});

it("only the owner of a thread sees its agents", async () => {
  const { threadId, agent } = await send();
  const missing = await server.send("GET", `/threads/${crypto.randomUUID()}/agents`, undefined, bob);
  for (const path of [`/threads/${threadId}/agents`, `/threads/${agent.thread_id}`]) {
    expect((await server.send("GET", path, undefined, bob)).status).toBe(404);
  }
  expect(missing.status).toBe(404);
});

it("the agents for background work are listed with their descriptions", async () => {
  const file = join(server.config.workspace, ".autocoderagents/reviewer.md");
  await writeFile(
    file,
    "---\nname: reviewer\ndescription: Looks for mistakes\ntools: read_file, list_files\nmodel: openai:scripted\ninclude_rules: true\n---\nYou review.\n",
  );
  const listed: unknown = await (await server.send("GET", "/agents", undefined, bob)).json();
  expect(listed).toEqual([
    expect.objectContaining({ name: "cleaner", tools: null, model: null, include_rules: false }),
    {
      name: "reviewer",
      description: "Looks for mistakes",
      tools: ["read_file", "list_files"],
      model: "openai:scripted",
      include_rules: true,
      path: ".autocoderagents/reviewer.md",
      prompt: "You review.",
    },
  ]);
});
