import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startTestServer, type TestServer } from "../support/testing.ts";

let server: TestServer;
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-clarify-"));
  const graphs = join(folder, "langgraph.json");
  const workflow = fileURLToPath(new URL("../../src/graph/workflow.ts", import.meta.url));
  await writeFile(graphs, JSON.stringify({ graphs: { agent: `${workflow}:workflow` } }));
  server = await startTestServer({ graphs });
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

const Waiting = z.array(
  z.object({
    id: z.string(),
    kind: z.string(),
    question: z.string(),
    value: z.object({ questions: z.array(z.string()), suggestions: z.array(z.string()) }),
  }),
);
const Values = z.object({
  messages: z.array(z.object({ type: z.string(), content: z.string() })),
});

async function ask(): Promise<{ threadId: string; waiting: z.infer<typeof Waiting> }> {
  const { thread_id: threadId } = await server.client.threads.create();
  await server.client.runs.wait(threadId, "agent", {
    input: { messages: [{ role: "user", content: "do something" }] },
  });
  const response = await server.send("GET", `/threads/${threadId}/approvals`);
  return { threadId, waiting: Waiting.parse(await response.json()) };
}

/** The session's values when nothing runs on it any more. */
async function valuesAfter(threadId: string): Promise<z.infer<typeof Values>> {
  for (const { run_id } of await server.client.runs.list(threadId)) await server.client.runs.join(threadId, run_id);
  return Values.parse((await server.client.threads.getState(threadId)).values);
}

describe("the question about an unclear request, over HTTP", () => {
  it("is listed with its suggestions, survives a restart, and is answered by its id", async () => {
    const { threadId, waiting } = await ask();
    expect(waiting).toMatchObject([
      { kind: "clarify", value: { suggestions: expect.arrayContaining([expect.any(String)]) } },
    ]);
    await server.close();
    server = await server.restart();
    const id = waiting[0]?.id ?? "";
    const answered = await server.send("POST", `/threads/${threadId}/approvals/${id}`, {
      type: "answer",
      text: "list the files",
    });
    expect(answered.status).toBe(200);
    const { messages } = await valuesAfter(threadId);
    expect(messages.map(({ type }) => type)).toEqual(expect.arrayContaining(["human", "ai", "human", "ai"]));
    expect(messages.filter(({ type }) => type === "human").map(({ content }) => content)).toEqual([
      "do something",
      "list the files",
    ]);
    expect(messages.at(-1)?.type).toBe("ai");
    expect(Waiting.parse(await (await server.send("GET", `/threads/${threadId}/approvals`)).json())).toEqual([]);
  });

  it.each([
    [{ type: "approve" }, "Go on with what you assume."],
    [{ type: "reject", message: "a poem instead" }, "a poem instead"],
  ])("takes %j", async (decision, expected) => {
    const { threadId, waiting } = await ask();
    const answered = await server.send("POST", `/threads/${threadId}/approvals/${waiting[0]?.id}`, decision);
    expect(answered.status).toBe(200);
    const { messages } = await valuesAfter(threadId);
    expect(messages.findLast(({ type }) => type === "human")?.content).toBe(expected);
  });
});
