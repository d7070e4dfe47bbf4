import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { eventsOf } from "@millrace/testing/read-events";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
let threadId: string;
const file = () => join(server.config.workspace, "notes.md");
/** The fields of a card that these tests read. */
interface Card {
  operation_id: string;
  message_id: string;
  run_id: string;
  summary: string;
}
interface CardList {
  operations: [Card, ...Card[]];
  total: number;
  more: number;
}
const get = async <Body = unknown>(path: string, headers: Record<string, string> = {}): Promise<Body> => {
  const response = await server.send("GET", `/threads/${threadId}${path}`, undefined, headers);
  expect(response.status).toBe(200);
  // Each test checks the shape.
  return (await response.json()) as Body;
};
const newest = async (): Promise<Card> => (await get<CardList>("/operations")).operations[0];
const post = (path: string) => server.send("POST", `/threads/${threadId}${path}`);
const CardPage = z.object({
  operations: z.array(z.looseObject({ operation_id: z.string() })),
  total: z.number(),
  more: z.number(),
});
const ask = (content: string) =>
  server.client.runs.wait(threadId, "agent", { input: { messages: [{ role: "user", content }] } });

beforeAll(async () => {
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json") });
  threadId = (await server.client.threads.create()).thread_id;
  await ask('Create the file notes.md with the text "hello"');
});
afterAll(() => server.remove());

describe("the operations of a thread", () => {
  it("list what tools changed, with the message and the run, in the reader's language", async () => {
    const [run] = await server.client.runs.list(threadId);
    const { operations, total, more } = await get<CardList>(`/operations?run_id=${run?.run_id}`);
    expect({ total, more }).toEqual({ total: 1, more: 0 });
    const [card] = operations;
    expect(card).toMatchObject({
      type: "create",
      path: "notes.md",
      summary: "Created notes.md (+1, -0 lines)",
      status: "success",
      can_undo: true,
      tool: "write_file",
      run_id: run?.run_id,
    });
    expect((await get<CardList>(`/operations?message_id=${card.message_id}`)).total).toBe(1);
    expect((await get<CardList>("/operations?message_id=another")).operations).toEqual([]);
    const chinese = await get<CardList>("/operations", { "accept-language": "zh-CN" });
    expect(chinese.operations[0].summary).toBe("创建 notes.md（+1 行，-0 行）");
  });

  it("are also named in the tool's message", async () => {
    const { values } = await server.client.threads.getState<{ messages: Record<string, unknown>[] }>(threadId);
    const card = await newest();
    const toolMessage = values.messages.find((message) => message["type"] === "tool");
    expect(toolMessage).toMatchObject({
      additional_kwargs: { operations: [{ operation_id: card.operation_id, type: "create", path: "notes.md" }] },
    });
  });

  it("show the changed lines, and what a run did to each file", async () => {
    const card = await newest();
    const diff = await get<{ lines: unknown }>(`/operations/${card.operation_id}/diff`);
    expect(diff).toMatchObject({ added: 1, removed: 0, more: 0, reason: null });
    expect(diff.lines).toEqual([{ kind: "added", text: "hello", old_line: null, new_line: 1, hunk: 1 }]);
    expect(await get(`/runs/${card.run_id}/changes`)).toEqual({
      "notes.md": { type: "added", diffs: ["+hello"], content: await readFile(file(), "utf8") },
    });
  });

  it("are listed five at a time with the number of the rest, and diffs twenty lines at a time (TOOL-19)", async () => {
    const other = (await server.client.threads.create()).thread_id;
    await server.client.runs.wait(other, "agent", { input: { messages: [{ role: "user", content: "hello" }] } });
    const content = Array.from({ length: 30 }, (_, index) => `line ${index}`).join("\n");
    for (let index = 0; index < 7; index += 1) {
      const args = { path: `many-${index}.md`, content };
      expect((await server.send("POST", `/threads/${other}/tools/create_file/run`, { args })).status).toBe(200);
    }
    const read = async (path: string): Promise<unknown> =>
      (await server.send("GET", `/threads/${other}/operations${path}`)).json();
    const { operations, total, more } = CardPage.parse(await read(""));
    expect([operations.length, total, more]).toEqual([5, 7, 2]);
    expect(await read(`/${operations[0]?.operation_id}/diff`)).toMatchObject({
      added: 30,
      more: 10,
      lines: Array.from({ length: 20 }, (_, index) => expect.objectContaining({ text: `line ${index}` })),
    });
  });

  it("send an event to subscribers of the thread when they are undone, once and without an id (TOOL-18)", async () => {
    const other = (await server.client.threads.create()).thread_id;
    const input = { messages: [{ role: "user", content: "hello" }] };
    await server.client.runs.wait(other, "agent", { input });
    const args = { path: "undone.md", content: "x" };
    await server.send("POST", `/threads/${other}/tools/create_file/run`, { args });
    const { operations } = CardPage.parse(await (await server.send("GET", `/threads/${other}/operations`)).json());
    const id = operations[0]?.operation_id;
    const events = eventsOf(await server.send("GET", `/threads/${other}/stream`))[Symbol.asyncIterator]();
    for (const _ of [1, 2]) {
      expect((await server.send("POST", `/threads/${other}/operations/${id}/undo`)).status).toBe(200);
    }
    expect((await events.next()).value).toEqual({
      event: "custom",
      data: { type: "operation_undone", operation_id: id, path: "undone.md", time: expect.stringMatching(/Z$/u) },
    });
    const { run_id } = await server.client.runs.create(other, "agent", { input });
    expect((await events.next()).value).toMatchObject({ event: "metadata", id: `${run_id}.0` });
    await events.return?.(undefined);
  });

  it("are 404 for a run of another thread", async () => {
    const other = (await server.client.threads.create()).thread_id;
    const { run_id } = await newest();
    for (const path of [`${threadId}/runs/${crypto.randomUUID()}`, `${other}/runs/${run_id}`]) {
      const response = await server.send("GET", `/threads/${path}/changes`);
      expect({ status: response.status, text: await response.text() }).toEqual({ status: 404, text: "Run not found" });
    }
  });

  it("are listed with every tool call, its whole result and its statistics", async () => {
    const log = await get("/tool-log");
    expect(log).toMatchObject({
      total: 1,
      calls: [{ tool: "write_file", status: "completed", result: { success: true } }],
      statistics: [{ tool: "write_file", calls: 1, successes: 1, failures: 0 }],
    });
  });

  it("are undone if nothing has changed since, once, also after a restart", async () => {
    const card = await newest();
    const made = await readFile(file(), "utf8");
    await writeFile(file(), "mine");
    const refused = await post(`/operations/${card.operation_id}/undo`);
    expect(refused.status).toBe(409);
    expect(await readFile(file(), "utf8")).toBe("mine");
    await writeFile(file(), made);
    await server.close();
    server = await server.restart();
    for (const _ of [1, 2]) {
      const undone = await post(`/operations/${card.operation_id}/undo`);
      expect(undone.status).toBe(200);
      expect(await undone.json()).toMatchObject({ status: "undone", can_undo: false });
      await expect(readFile(file())).rejects.toMatchObject({ code: "ENOENT" });
    }
  });

  it("are 404 in another thread", async () => {
    const card = await newest();
    const other = (await server.client.threads.create()).thread_id;
    for (const path of [`${other}/operations/${card.operation_id}`, `${threadId}/operations/${crypto.randomUUID()}`]) {
      expect((await server.send("POST", `/threads/${path}/undo`)).status).toBe(404);
      expect((await server.send("GET", `/threads/${path}/diff`)).status).toBe(404);
    }
    expect((await server.send("GET", `/threads/${crypto.randomUUID()}/operations`)).status).toBe(404);
  });
});
