import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let model: ModelServer;

beforeAll(async () => {
  const creates = (path: string) => ({
    toolCalls: [{ name: "create_file", arguments: { path, content: path }, id: path }],
  });
  model = await startModelServer({ script: [creates("a"), creates("b"), creates("c"), { text: "done" }] });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
});

interface Waiting {
  id: string;
  kind: string;
  question: string;
}

describe("a guarded turn over HTTP", () => {
  it("shows each question with its keyword in both languages, and accepts the keyword as the answer", async () => {
    const { thread_id } = await server.client.threads.create();
    const get = async <Body>(path: string, language = "en"): Promise<Body> => {
      const headers = { "accept-language": language };
      // Each call checks the shape.
      return (await (await server.send("GET", `/threads/${thread_id}${path}`, undefined, headers)).json()) as Body;
    };
    await server.client.runs.wait(thread_id, "agent", {
      input: { messages: [{ role: "user", content: "Make three files" }] },
      context: { mode: "free_work", tool_policy: "guarded" },
    });
    const [first] = await get<[Waiting]>("/approvals");
    expect(first).toMatchObject({
      kind: "chain_confirm",
      tool: "create_file",
      args: { path: "b" },
      question: expect.stringContaining('Reply "confirm"'),
      allowed_decisions: ["approve", "reject", "respond", "answer"],
      may_remember: false,
    });
    expect((await get<[Waiting]>("/approvals", "zh"))[0].question).toContain("回复“确认”");
    expect(await get("/status")).toMatchObject({
      orchestration: { requires_confirm: true, last_tool: "create_file" },
      waits_for: [
        { kind: "chain_confirm", tool: "create_file", keywords: expect.arrayContaining(["confirm", "确认"]) },
      ],
    });
    const answer = (id: string, decision: object) =>
      server.send("POST", `/threads/${thread_id}/approvals/${id}`, decision);
    const confirmed = (await (await answer(first.id, { type: "respond", text: "确认" })).json()) as { run_id: string };
    await server.client.runs.join(thread_id, confirmed.run_id);
    expect(await readFile(join(server.config.workspace, "b"), "utf8")).toBe("b");
    // The policy belongs to the run, and is kept when the run continues with the answer.
    const [second] = await get<[Waiting]>("/approvals");
    expect(second).toMatchObject({ kind: "chain_confirm", args: { path: "c" } });
    const declined = (await (await answer(second.id, { type: "answer", text: "stop here" })).json()) as {
      run_id: string;
    };
    await server.client.runs.join(thread_id, declined.run_id);
    await expect(readFile(join(server.config.workspace, "c"))).rejects.toMatchObject({ code: "ENOENT" });
    expect((await server.client.threads.get(thread_id)).status).toBe("idle");
    expect(await get("/status")).toMatchObject({
      orchestration: { requires_confirm: false, last_tool: "create_file" },
      waits_for: [],
    });
  });
});
