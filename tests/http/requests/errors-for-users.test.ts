import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { userSentence, userText } from "@millrace/engine/errors/error-texts";
import type { Language } from "@millrace/engine/language";
import { eventsOf } from "@millrace/testing/read-events";
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
let isBroken = true;
const languages: Language[] = ["en", "zh"];
const unknown = "00000000-0000-7000-8000-000000000000";
const json = (language: Language): Record<string, string> => ({
  accept: "application/json",
  "accept-language": language,
  "x-request-id": "request-7",
});

beforeAll(async () => {
  model = await startModelServer({
    handler: ({ messages }) =>
      isBroken
        ? { fault: { kind: "status", status: 401, message: "wrong key" } }
        : { text: `Messages: ${messages.filter(({ role }) => role === "user").length}` },
  });
  folder = await mkdtemp(join(tmpdir(), "millrace-errors-"));
  const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const graphs = join(folder, "langgraph.json");
  const served = {
    agent: `${at("../../../src/graph/workflow.ts")}:workflow`,
    failing: `${at("../../support/test-graphs.ts")}:failing`,
  };
  await writeFile(graphs, JSON.stringify({ graphs: served }));
  server = await startTestServer({
    graphs,
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    approvalTimeoutHours: 1,
  });
});
beforeEach(() => {
  isBroken = true;
});
afterAll(async () => {
  await server.remove();
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

async function thread(): Promise<string> {
  return (await server.client.threads.create()).thread_id;
}

const inputOf = (content: string): object => ({ messages: [{ role: "user", content }] });
const body = (more: object = {}): object => ({
  assistant_id: "agent",
  input: inputOf("Hello you"),
  context: { mode: "free_work" },
  ...more,
});

async function waiting(threadId: string, language: Language): Promise<Waiting[]> {
  const headers = { "accept-language": language };
  const response = await server.send("GET", `/threads/${threadId}/approvals`, undefined, headers);
  // The assertions check the shape.
  return (await response.json()) as Waiting[];
}

async function wordsOf(threadId: string): Promise<string[]> {
  for (const run of await server.client.runs.list(threadId)) await server.client.runs.join(threadId, run.run_id);
  const { messages } = (await server.client.threads.getState(threadId)).values as { messages: { content: string }[] };
  return messages.map(({ content }) => content);
}

describe.each(languages)("an error response as JSON in %s", (language) => {
  it.each([
    ["GET", `/threads/${unknown}`, undefined, 404, "not_found"],
    ["GET", "/threads/no-id", undefined, 400, "invalid_parameter"],
    ["POST", "/threads", "{", 400, "invalid_parameter"],
  ] as const)("%s %s", async (method, path, content, status, errorType) => {
    const response = await server.send(method, path, content, json(language));
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      errorType,
      message: expect.any(String),
      suggestion: userText(errorType, language).suggestion,
      recoverable: true,
      user_message: userSentence(errorType, language),
      request_id: "request-7",
    });
  });

  it("names the invalid parameters", async () => {
    const wrong = { limit: "many", offset: -1 };
    const response = await server.send("POST", "/threads/search", wrong, json(language));
    expect(await response.json()).toMatchObject({
      success: false,
      error: { name: "ZodError" },
      message: expect.stringMatching(/limit: .*offset: /u),
      parameters: ["limit", "offset"],
      user_message: userSentence("invalid_parameter", language),
    });
  });
});

describe("an error with more details than its code", () => {
  const refused = async (headers: Record<string, string>): Promise<unknown> =>
    await (await server.send("POST", "/threads/import", "{}", { accept: "application/json", ...headers })).json();

  it("has them in Chinese for clients in Chinese", async () => {
    expect(await refused({ "accept-language": "zh-CN" })).toMatchObject({
      message: expect.stringMatching(/^Expected a file of the format/u),
      message_zh: expect.stringMatching(/^\p{Script=Han}/u),
      user_message: expect.stringMatching(/^\p{Script=Han}/u),
    });
  });

  it.each<Record<string, string>>([{}, { "accept-language": "en" }])(
    "is unchanged with the headers %j",
    async (headers) => {
      const error = await refused(headers);
      expect(error).toMatchObject({ user_message: userSentence("invalid_format", "en") });
      expect(error).not.toHaveProperty("message_zh");
    },
  );
});

describe("an error response to any Accept", () => {
  it.each(["*/*", "text/event-stream"])("with Accept %s has LangGraph's format", async (accept) => {
    const response = await server.send("GET", `/threads/${unknown}`, undefined, { accept, "accept-language": "zh" });
    expect(await response.text()).toBe(`Thread with ID ${unknown} not found`);
  });
});

describe("a failed run", () => {
  it.each(languages)("has a message for users in %s, beside LangGraph's for programs", async (language) => {
    const headers = { "accept-language": language };
    const forUser = {
      error: "auth",
      message: expect.stringContaining("OPENAI_API_KEY"),
      suggestion: userText("auth", language).suggestion,
      recoverable: false,
      user_message: userSentence("auth", language),
    };
    const waited = await server.send("POST", `/threads/${await thread()}/runs/wait`, body(), headers);
    expect(await waited.json()).toEqual({ __error__: forUser });
    const streamed = await server.send("POST", `/threads/${await thread()}/runs/stream`, body(), headers);
    const data = /event: error\ndata: (.*)\n/u.exec(await streamed.text())?.[1] ?? "";
    expect(JSON.parse(data)).toEqual(forUser);
    const threadId = streamed.headers.get("content-location")?.split("/")[2];
    const followed = { ...headers, "last-event-id": "-1" };
    const whole = await server.send("GET", `/threads/${threadId}/stream`, undefined, followed);
    let error: unknown;
    for await (const { event, data: found } of eventsOf(whole)) {
      if (event === "error") error = found;
      if (error !== undefined) break;
    }
    expect(error).toEqual(forUser);
  });

  it("of a graph with an error of its own has exactly LangGraph's message", async () => {
    const sent = { assistant_id: "failing", input: {} };
    const waited = await server.send("POST", `/threads/${await thread()}/runs/wait`, sent, { "accept-language": "zh" });
    expect(await waited.json()).toEqual({ __error__: { error: "RangeError", message: "out of luck" } });
  });

  it("is retried with its message by a run without input", async () => {
    const id = await thread();
    await (await server.send("POST", `/threads/${id}/runs/wait`, body())).text();
    expect(await wordsOf(id)).toEqual(["Hello you"]);
    isBroken = false;
    await (await server.send("POST", `/threads/${id}/runs/wait`, body({ input: null }))).text();
    expect(await wordsOf(id)).toEqual(["Hello you", "Messages: 1"]);
  });
});

describe("a question after a failure", () => {
  const asking = body({ context: { mode: "free_work", on_error: "ask" } });

  it.each(languages)("is listed in %s, and answered like any other", async (language) => {
    const id = await thread();
    await (await server.send("POST", `/threads/${id}/runs/wait`, asking)).text();
    const [asked] = await waiting(id, language);
    expect(asked).toMatchObject({
      kind: "error_decision",
      question: expect.stringContaining(userSentence("auth", language)),
      allowed_decisions: ["answer", "respond", "reject"],
      expires_at: expect.any(String),
    });
    isBroken = false;
    const answer = { type: "answer", value: "Retry" };
    expect((await server.send("POST", `/threads/${id}/approvals/${asked?.id}`, answer)).status).toBe(200);
    expect(await wordsOf(id)).toEqual(["Hello you", "Messages: 1"]);
    expect(await waiting(id, language)).toEqual([]);
  });

  it("is asked again, with the run's own settings, when the retry fails too", async () => {
    const id = await thread();
    await (await server.send("POST", `/threads/${id}/runs/wait`, asking)).text();
    const [first] = await waiting(id, "en");
    await server.send("POST", `/threads/${id}/approvals/${first?.id}`, { type: "respond", text: "retry" });
    expect(await wordsOf(id)).toEqual(["Hello you"]);
    const [second] = await waiting(id, "en");
    expect(second?.kind).toBe("error_decision");
    expect(second?.id).not.toBe(first?.id);
  });

  it("survives a restart, and ends the turn at its timeout", async () => {
    const id = await thread();
    await (await server.send("POST", `/threads/${id}/runs/wait`, asking)).text();
    const asked = await waiting(id, "en");
    await server.close();
    server = await server.restart();
    expect(await waiting(id, "en")).toEqual(asked);
    await server.close();
    server = await server.restart({ approvalTimeoutHours: 1 / 3_600_000 });
    const late = await server.send("POST", `/threads/${id}/approvals/${asked[0]?.id}`, {
      type: "answer",
      value: "Retry",
    });
    expect(await late.json()).toMatchObject({ repeated: true, decided_by: "timeout" });
    expect(await wordsOf(id)).toEqual(["Hello you", "I was stopped."]);
  });
});
