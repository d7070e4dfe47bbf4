import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createLogger } from "@millrace/engine/logger";
import { enabledToolkits } from "../../../src/toolkits/enabled-toolkits.ts";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
const place = (path: string): string => join(server.config.workspace, path);
const exists = (path: string): Promise<boolean> =>
  access(place(path)).then(
    () => true,
    () => false,
  );
const newThread = async (): Promise<string> => (await server.client.threads.create()).thread_id;
const run = (threadId: string, tool: string, body: object, headers: Record<string, string> = {}) =>
  server.send("POST", `/threads/${threadId}/tools/${tool}/run`, body, headers);
/** The fields of an answer that these tests read. */
interface Ran {
  call_id: string;
  message_ids: string[];
  result: { success: boolean; code: string };
}
interface Message {
  id: string;
  type: string;
  content: string;
  tool_calls?: { id: string; name: string; args: object }[];
  tool_call_id?: string;
}
// Each test checks the shape.
const ran = async (answer: Response): Promise<Ran> => (await answer.json()) as Ran;
const messagesOf = async (threadId: string): Promise<Message[]> =>
  (await server.client.threads.getState<{ messages?: Message[] }>(threadId)).values.messages ?? [];
const logOf = async (threadId: string): Promise<{ total: number; calls: object[] }> =>
  (await (await server.send("GET", `/threads/${threadId}/tool-log`)).json()) as { total: number; calls: object[] };

const Counted = z.looseObject({ name: z.string(), statistics: z.unknown() });
/** The server's log of calls: level, tool and message. */
const logged: unknown[][] = [];
const Line = z.looseObject({ level: z.number(), msg: z.string(), tool: z.string().optional() });
const logger = createLogger("debug", {
  write: (line: string) => {
    const { level, msg, tool } = Line.parse(JSON.parse(line));
    if (msg.startsWith("tool_")) logged.push([level, tool, msg]);
  },
});

beforeAll(async () => {
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json") }, logger);
});
afterAll(() => server.remove());

describe("the list of tools", () => {
  it("has each tool's input, when it needs approval, and the results of its calls", async () => {
    const thread = await newThread();
    await run(thread, "create_folder", { args: { path: "count-me" } });
    await run(thread, "read_file", { args: { path: "not-there.txt" } });
    const listed = (await (await server.send("GET", "/tools")).json()) as { name: string }[];
    expect(listed.map(({ name }) => name)).toEqual(
      enabledToolkits().flatMap((toolkit) => toolkit.tools.map((tool) => tool.name)),
    );
    // Commands of the machine exist only if the operator has named them.
    expect(listed.map(({ name }) => name)).not.toContain("execute_command");
    expect(listed.find(({ name }) => name === "delete_file")).toMatchObject({
      effect: "reconcilable",
      is_default: true,
      parameters: { type: "object", required: ["path"] },
      confirmation: expect.arrayContaining([{ operation: "DeleteFolder", asks: "always" }]),
      statistics: null,
    });
    // A server counts its own calls; of two, one is asked after the other.
    const seen = async (tool: string) => {
      const all = z.array(Counted).parse(await (await server.send("GET", "/tools")).json());
      return all.find(({ name }) => name === tool)?.statistics;
    };
    await expect.poll(() => seen("create_folder")).toMatchObject({ calls: 1, successes: 1, failures: 0 });
    await expect.poll(() => seen("read_file")).toMatchObject({ calls: 1, failures: 1 });
    const [debug, info, error] = [20, 30, 50];
    expect(logged).toEqual([
      [debug, "create_folder", "tool_started"],
      [info, "create_folder", "tool_ended"],
      [debug, "read_file", "tool_started"],
      [error, "read_file", "tool_failed"],
    ]);
  });
});

describe("a tool that is run by hand", () => {
  it("has its effect once, can be undone, and is visible to the next turn", async () => {
    const thread = await newThread();
    const answer = await run(thread, "create_file", { args: { path: "notes.md", content: "hello" } });
    expect(answer.status).toBe(200);
    const { call_id, message_ids, result } = await ran(answer);
    expect(result).toMatchObject({ success: true, code: "OK" });
    expect(await readFile(place("notes.md"), "utf8")).toBe("hello");
    expect(await logOf(thread)).toMatchObject({
      total: 1,
      calls: [{ call_id, tool: "create_file", status: "completed" }],
    });
    const [operation] = (
      (await (await server.send("GET", `/threads/${thread}/operations`)).json()) as {
        operations: { operation_id: string; message_id: string; can_undo: boolean }[];
      }
    ).operations;
    expect(operation).toMatchObject({ message_id: message_ids[1], can_undo: true });
    const messages = await messagesOf(thread);
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool"]);
    expect(messages.map(({ id }) => id)).toEqual(message_ids);
    expect(messages[1]?.tool_calls?.[0]).toMatchObject({ name: "create_file", args: { path: "notes.md" } });
    expect(messages[2]?.tool_call_id).toBe(messages[1]?.tool_calls?.[0]?.id);
    await server.client.runs.wait(thread, "agent", {
      input: { messages: [{ role: "user", content: "Read the file notes.md" }] },
    });
    const after = await messagesOf(thread);
    expect(after.slice(0, 3).map(({ id }) => id)).toEqual(message_ids);
    expect(after.slice(3).filter(({ type }) => type === "tool")[0]).toMatchObject({ content: "1\thello" });
    const undone = await server.send("POST", `/threads/${thread}/operations/${operation?.operation_id}/undo`);
    expect(undone.status).toBe(200);
    expect(await exists("notes.md")).toBe(false);
  });

  it("returns a failure as a result, and starts nothing with invalid arguments", async () => {
    const thread = await newThread();
    const missing = await ran(await run(thread, "read_file", { args: { path: "not-there.txt" } }));
    expect(missing.result).toMatchObject({ success: false, errorType: "not_found" });
    expect((await messagesOf(thread)).at(-1)).toMatchObject({ type: "tool", status: "error" });
    const wrong = await ran(await run(thread, "read_file", { args: {} }));
    expect(wrong).toMatchObject({ call_id: null, message_ids: [], result: { errorType: "missing_parameter" } });
    expect((await logOf(thread)).total).toBe(1);
  });

  it("needs approval if a rule says so, and the approval applies to exactly the call that was shown", async () => {
    const thread = await newThread();
    await mkdir(place("old"));
    await writeFile(place("old/a.txt"), "a");
    const call = { args: { path: "old" } };
    const asked = await run(thread, "delete_file", call, { "accept-language": "zh" });
    expect(asked.status).toBe(409);
    const question = (await asked.json()) as { approved_hash: string; question: string };
    expect(question).toMatchObject({ operation: { type: "DeleteFolder", entries: 1 }, has_changed: false });
    expect(question.question).toContain("要删除文件夹 old");
    expect((await logOf(thread)).total).toBe(0);

    await writeFile(place("old/b.txt"), "b");
    const again = await run(thread, "delete_file", { ...call, approved_hash: question.approved_hash });
    expect(again.status).toBe(409);
    const changed = (await again.json()) as { approved_hash: string };
    expect(changed).toMatchObject({ operation: { entries: 2 }, has_changed: true });
    expect(await exists("old/a.txt")).toBe(true);

    const approved = await run(thread, "delete_file", { ...call, approved_hash: changed.approved_hash });
    expect((await ran(approved)).result.success).toBe(true);
    expect(await exists("old")).toBe(false);
  });

  it("has one effect for one key, and the same answer twice", async () => {
    const thread = await newThread();
    const call = { args: { path: "only-once" } };
    const headers = { "idempotency-key": "a key" };
    const first = await ran(await run(thread, "create_folder", call, headers));
    const second = await ran(await run(thread, "create_folder", call, headers));
    expect(second).toEqual(first);
    expect((await logOf(thread)).total).toBe(1);
    expect(await messagesOf(thread)).toHaveLength(3);
    const other = await run(thread, "list_files", { args: { path: "." } }, headers);
    expect(other.status).toBe(409);
    const elsewhere = await ran(await run(await newThread(), "create_folder", call, headers));
    expect(elsewhere.call_id).not.toBe(first.call_id);
  });

  it("keeps each of several concurrent calls in the history", async () => {
    const thread = await newThread();
    const answers = await Promise.all(
      ["a", "b", "c"].map(async (title) => ran(await run(thread, "create_folder", { args: { path: title } }))),
    );
    const ids = (await messagesOf(thread)).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(answers.flatMap(({ message_ids }) => message_ids).toSorted());
  });

  it("is refused while a question is open, without any effect", async () => {
    const thread = await newThread();
    await mkdir(place("full"), { recursive: true });
    await writeFile(place("full/a.txt"), "1");
    await server.client.runs.wait(thread, "agent", {
      input: { messages: [{ role: "user", content: "Delete the folder full" }] },
    });
    expect((await server.client.threads.get(thread)).status).toBe("interrupted");
    const refused = await run(thread, "create_folder", { args: { path: "not-now" } });
    expect(refused.status).toBe(409);
    expect(await refused.text()).toContain("question");
  });

  it("is 404 for an unknown tool or thread", async () => {
    const unknown = await run(await newThread(), "fly", {});
    expect(unknown.status).toBe(404);
    expect(await unknown.text()).toContain("read_file");
    expect((await run(crypto.randomUUID(), "list_files", {})).status).toBe(404);
  });
});

describe("a failed tool that was run by hand", () => {
  it("has an explanation for users in Chinese, and none for others", async () => {
    const gone = { path: "not-there.txt" };
    const thread = await newThread();
    const resultOf = async (headers: Record<string, string>): Promise<unknown> =>
      await (await run(thread, "read_file", { args: gone }, headers)).json();
    expect(await resultOf({ "accept-language": "zh" })).toMatchObject({
      result: { success: false, message_zh: expect.stringMatching(/^找不到所请求的内容。/u) },
    });
    expect(await resultOf({})).not.toHaveProperty("result.message_zh");
  });
});

describe("the preview of a tool", () => {
  interface Preview {
    kind: string;
    summary: string;
    paths: string[];
    diff?: { added: number; removed: number; lines: { kind: string; text: string }[] };
    approved_hash: string;
    asks: boolean;
    question: string | null;
  }
  const previewOf = async (tool: string, args: object, language = "en"): Promise<Preview> => {
    const path = `/threads/${await newThread()}/tools/${tool}/preview`;
    const answer = await server.send("POST", path, { args }, { "accept-language": language });
    expect(answer.status).toBe(200);
    // Each test checks the shape.
    return (await answer.json()) as Preview;
  };
  const changed = ({ diff }: Preview): string[] =>
    (diff?.lines ?? []).filter(({ kind }) => kind !== "same").map(({ kind, text }) => `${kind} ${text}`);

  it("shows the change of a file, line by line, and does nothing", async () => {
    await writeFile(place("looked-at.txt"), "one\ntwo\nthree\n");
    const edits = [{ old_string: "two", new_string: "2" }];
    const edited = await previewOf("edit_file", { path: "looked-at.txt", edits });
    expect(edited).toMatchObject({
      kind: "modify",
      summary: "Change looked-at.txt (+1, -1 lines)",
      paths: ["looked-at.txt"],
      diff: { path: "looked-at.txt", added: 1, removed: 1, more: 0 },
      undoable: true,
      asks: false,
      question: null,
      refused: null,
    });
    expect(changed(edited)).toEqual(["removed two", "added 2"]);
    const written = await previewOf("write_file", { path: "looked-at.txt", content: "one\n" });
    expect(changed(written)).toEqual(["removed two", "removed three"]);
    const made = await previewOf("create_file", { path: "new/one.txt", content: "a\nb\n" }, "zh");
    expect(made).toMatchObject({ kind: "create", summary: "创建 new/one.txt（+2 行，-0 行）", diff: { added: 2 } });
    expect(await previewOf("move_file", { source: "looked-at.txt", destination: "there.txt" })).toMatchObject({
      kind: "move",
      summary: "Move looked-at.txt to there.txt",
      paths: ["looked-at.txt", "there.txt"],
      undoable: true,
    });
    expect(await previewOf("list_files", { path: "." })).toMatchObject({ kind: "call", paths: [], undoable: false });
    expect(await readFile(place("looked-at.txt"), "utf8")).toBe("one\ntwo\nthree\n");
    expect(await exists("new")).toBe(false);
  });

  it("has the hash that a run with approval needs, and the question in the client's language", async () => {
    await writeFile(place("unwanted.txt"), "a\nb\n");
    const looked = await previewOf("delete_file", { path: "unwanted.txt" }, "zh");
    expect(looked).toMatchObject({ kind: "delete", asks: true, question: "要删除文件 unwanted.txt 吗？" });
    expect(changed(looked)).toEqual(["removed a", "removed b"]);
    const call = { args: { path: "unwanted.txt" }, approved_hash: looked.approved_hash };
    expect((await ran(await run(await newThread(), "delete_file", call))).result.success).toBe(true);
    expect(await exists("unwanted.txt")).toBe(false);
  });

  it("is an error for invalid arguments, unknown tools and unknown threads", async () => {
    const thread = await newThread();
    const look = (id: string, tool: string, args: object) =>
      server.send("POST", `/threads/${id}/tools/${tool}/preview`, { args });
    expect((await look(thread, "read_file", {})).status).toBe(400);
    expect((await look(thread, "fly", {})).status).toBe(404);
    expect((await look(crypto.randomUUID(), "list_files", {})).status).toBe(404);
    const unmatched = await previewOf("edit_file", {
      path: "looked-at.txt",
      edits: [{ old_string: "not in it", new_string: "x" }],
    });
    expect(unmatched.diff).toBeUndefined();
  });
});

describe("with keys", () => {
  it("no owner runs a tool in another's thread, and only owners who see everything see the statistics", async () => {
    const apiKeys = [
      { owner: "ann", key: "key-of-ann" },
      { owner: "bob", key: "key-of-bob" },
    ];
    const shared = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), apiKeys });
    try {
      const thread = (await shared.client.threads.create()).thread_id;
      const path = `/threads/${thread}/tools/create_folder/run`;
      const bob = { "x-api-key": "key-of-bob" };
      expect((await shared.send("POST", path, { args: { path: "x" } }, bob)).status).toBe(404);
      const own = await shared.send("POST", path, { args: { path: "x" } }, { "x-api-key": "key-of-ann" });
      expect(own.status).toBe(200);
      const listed = (await (await shared.send("GET", "/tools", undefined, bob)).json()) as { statistics: unknown }[];
      expect(listed.every(({ statistics }) => statistics === null)).toBe(true);
    } finally {
      await shared.remove();
    }
  });
});

describe("without hooks", () => {
  it("tools run as usual, and are not counted", async () => {
    const quiet = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), toolHooks: false });
    try {
      const thread = (await quiet.client.threads.create()).thread_id;
      const answer = await quiet.send("POST", `/threads/${thread}/tools/create_folder/run`, { args: { path: "x" } });
      expect(answer.status).toBe(200);
      const listed = (await (await quiet.send("GET", "/tools")).json()) as { statistics: unknown }[];
      expect(listed.every(({ statistics }) => statistics === null)).toBe(true);
    } finally {
      await quiet.remove();
    }
  });
});

describe("the last calls of a tool", () => {
  it("are those of all threads, newest first, with their results", async () => {
    const [one, other] = [await newThread(), await newThread()];
    await run(one, "create_folder", { args: { path: "last/a" } });
    await run(other, "create_folder", { args: { path: "last/b" } });
    await run(one, "create_folder", { args: { path: "last/a/\0" } });
    await run(one, "read_file", { args: { path: "nothing.md" } });
    const read = async (query = "") => (await server.send("GET", `/tools/create_folder/calls${query}`)).json();
    expect(await read("?limit=3")).toMatchObject([
      { thread_id: one, tool: "create_folder", status: "failed" },
      { thread_id: other, status: "completed", message: expect.stringContaining("last/b") },
      { thread_id: one, status: "completed", message: expect.stringContaining("last/a") },
    ]);
    expect(await read("?limit=1")).toHaveLength(1);
  });
});
