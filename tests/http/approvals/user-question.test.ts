import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelServer, startTestServer, type ModelServer, type TestServer } from "../../support/testing.ts";

interface Waiting {
  id: string;
  kind: string;
  question: string;
  allowed_decisions: string[];
  expires_at: string | null;
}

let model: ModelServer;
let server: TestServer;
let folder = "";

beforeAll(async () => {
  // Asks first, and then repeats the answer.
  model = await startModelServer({
    handler: ({ messages }) => {
      const result = messages.at(-1);
      if (result?.role === "tool") return { text: `Answer: ${String(result.content)}` };
      const isPlan = JSON.stringify(messages.at(-1)).includes("plan");
      const name = isPlan ? "plan_mode_respond" : "ask_followup_question";
      return { toolCalls: [{ name, arguments: isPlan ? { response: "1. Go" } : { question: "Which one?" } }] };
    },
  });
  folder = await mkdtemp(join(tmpdir(), "millrace-question-"));
  const graphs = join(folder, "langgraph.json");
  const workflow = fileURLToPath(new URL("../../../src/graph/workflow.ts", import.meta.url));
  await writeFile(graphs, JSON.stringify({ graphs: { agent: `${workflow}:workflow` } }));
  server = await startTestServer({
    graphs,
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    approvalTimeoutHours: 1,
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

async function waiting(threadId: string): Promise<Waiting[]> {
  const response = await server.send("GET", `/threads/${threadId}/approvals`);
  // The assertions check the shape.
  return (await response.json()) as Waiting[];
}

/** A thread whose run waits for an answer to the model's question after `text`. */
async function ask(text: string): Promise<{ threadId: string; asked: Waiting }> {
  const { thread_id } = await server.client.threads.create();
  const input = { messages: [{ role: "user", content: text }] };
  await server.client.runs.wait(thread_id, "agent", { input, context: { mode: "free_work" } });
  const [asked] = await waiting(thread_id);
  if (asked === undefined) throw new Error("nothing was asked");
  return { threadId: thread_id, asked };
}

async function lastWords(threadId: string): Promise<string> {
  for (const run of await server.client.runs.list(threadId)) await server.client.runs.join(threadId, run.run_id);
  const { messages } = (await server.client.threads.getState(threadId)).values as { messages: { content: string }[] };
  return messages.at(-1)?.content ?? "";
}

const answer = (threadId: string, id: string, decision: unknown): Promise<Response> =>
  server.send("POST", `/threads/${threadId}/approvals/${id}`, decision);

describe("a question of the model over HTTP", () => {
  it.each([
    [{ type: "answer", text: "the second" }, "The user answered: the second"],
    [{ type: "answer", value: "the second" }, "The user answered: the second"],
    [{ type: "respond", text: "the second" }, "The user answered: the second"],
    [{ type: "reject", message: "no idea" }, "They said: no idea"],
  ])("is listed, and answered by its id: %j", async (decision, expected) => {
    const { threadId, asked } = await ask("print one of them");
    expect(asked).toMatchObject({
      kind: "followup",
      question: "Which one?",
      allowed_decisions: ["answer", "respond", "reject"],
    });
    expect(asked.expires_at).not.toBeNull();
    const response = await answer(threadId, asked.id, decision);
    expect(response.status).toBe(200);
    expect(await lastWords(threadId)).toContain(expected);
    expect(await waiting(threadId)).toEqual([]);
  });

  it("can also be answered by a plain resume", async () => {
    const { threadId } = await ask("print one of them");
    await server.client.runs.wait(threadId, "agent", { command: { resume: "the first" } });
    expect(await lastWords(threadId)).toContain("The user answered: the first");
  });

  it("accepts an approval only where a plan was shown", async () => {
    const question = await ask("print one of them");
    const refused = await answer(question.threadId, question.asked.id, { type: "approve" });
    expect(refused.status).toBe(400);
    const plan = await ask("show me a plan");
    expect(plan.asked).toMatchObject({ kind: "plan_review", allowed_decisions: expect.arrayContaining(["approve"]) });
    expect((await answer(plan.threadId, plan.asked.id, { type: "approve" })).status).toBe(200);
    expect(await lastWords(plan.threadId)).toContain("agrees with the plan");
  });

  it("waits through a restart, and is declined when its timeout ends", async () => {
    const { threadId, asked } = await ask("print one of them");
    await server.close();
    server = await server.restart();
    expect(await waiting(threadId)).toEqual([asked]);
    await server.close();
    server.config.approvalTimeoutHours = 1 / 3_600_000;
    server = await server.restart();
    const late = await (await answer(threadId, asked.id, { type: "answer", text: "too late" })).json();
    expect(late).toMatchObject({ repeated: true, decided_by: "timeout", decision: { type: "reject" } });
    expect(await lastWords(threadId)).toContain("Nobody answered within");
  });
});
