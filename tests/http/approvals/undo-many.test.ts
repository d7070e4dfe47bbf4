import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json") });
});
afterAll(() => server.remove());

const Operations = z.object({ operations: z.array(z.looseObject({ operation_id: z.string(), path: z.string() })) });
const Undone = Operations.extend({
  dry_run: z.boolean(),
  already_undone: z.array(z.string()),
  conflicts: z.array(
    z.looseObject({ operation_id: z.string(), reason: z.string(), later: z.array(z.string()), message: z.string() }),
  ),
});
const Changes = z.array(
  z.looseObject({
    path: z.string(),
    type: z.string(),
    operations: z.array(z.string()),
    old_path: z.string().nullable(),
  }),
);

const History = z.array(z.looseObject({ thread_id: z.string(), type: z.string(), path: z.string() }));

let folders = 0;
/** A thread with its own folder in the workspace, in which tools are run by hand. */
async function workingThread() {
  const { thread_id } = await server.client.threads.create();
  const input = { messages: [{ role: "user", content: "hello" }] };
  await server.client.runs.wait(thread_id, "agent", { input });
  const folder = `many-${(folders += 1)}`;
  await mkdir(join(server.config.workspace, folder));
  const send = (method: string, path: string, body?: object, headers = {}) =>
    server.send(method, `/threads/${thread_id}${path}`, body, headers);
  const call = async (tool: string, args: object): Promise<string> => {
    const answer = await send("POST", `/tools/${tool}/run`, { args });
    expect(answer.status, await answer.clone().text()).toBe(200);
    const { operations } = Operations.parse(await (await send("GET", "/operations?limit=1")).json());
    return operations[0]?.operation_id ?? "";
  };
  const path = (name: string): string => `${folder}/${name}`;
  return {
    thread_id,
    folder,
    send,
    create: (name: string, content: string) => call("create_file", { path: path(name), content }),
    overwrite: (name: string, content: string) => call("update_file", { path: path(name), content }),
    move: (from: string, to: string) => call("move_file", { source: path(from), destination: path(to) }),
    text: (name: string): Promise<string | null> =>
      readFile(join(server.config.workspace, path(name)), "utf8").catch(() => null),
    put: (name: string, content: string) => writeFile(join(server.config.workspace, path(name)), content),
    undo: async (body: object, headers = {}): Promise<[number, z.infer<typeof Undone>]> => {
      const answer = await send("POST", "/operations/undo", body, headers);
      return [answer.status, Undone.parse(await answer.json())];
    },
    changes: async (query = "") => Changes.parse(await (await send("GET", `/changes${query}`)).json()),
  };
}

it("GET /operations lists the history of a file over all threads, in pages", async () => {
  const [one, other] = [await workingThread(), await workingThread()];
  await one.create("shared.md", "one");
  const args = { path: `${one.folder}/shared.md`, content: "two" };
  await other.send("POST", "/tools/update_file/run", { args });
  await other.create("own.md", "mine");
  await one.move("shared.md", "moved.md");
  const read = async (query: string) => {
    const answer = await server.send("GET", `/operations?${query}`);
    return [History.parse(await answer.json()), answer.headers.get("x-pagination-next")] as const;
  };
  const path = encodeURIComponent(`${one.folder}/shared.md`);
  const [whole] = await read(`path=${path}`);
  expect(whole.map(({ type, thread_id }) => [type, thread_id])).toEqual([
    ["move", one.thread_id],
    ["modify", other.thread_id],
    ["create", one.thread_id],
  ]);
  const [first, next] = await read(`path=${path}&limit=2`);
  const [rest, end] = await read(`path=${path}&limit=2&cursor=${encodeURIComponent(next ?? "")}`);
  expect([[...first, ...rest], end]).toEqual([whole, null]);
  const [ofOne] = await read(`thread_id=${other.thread_id}`);
  expect(ofOne.map((operation) => operation.path)).toEqual([`${other.folder}/own.md`, `${one.folder}/shared.md`]);
});

describe("the undo of several operations", () => {
  it("undoes all of them, newest first, each once", async () => {
    const thread = await workingThread();
    const ids = [
      await thread.create("a.md", "one"),
      await thread.overwrite("a.md", "two"),
      await thread.create("b.md", "three"),
      await thread.move("b.md", "c.md"),
    ];
    const [planned, plan] = await thread.undo({ operation_ids: ids, dry_run: true });
    expect([planned, plan.dry_run, plan.conflicts]).toEqual([200, true, []]);
    expect(await thread.text("a.md")).toContain("two");
    const [status, done] = await thread.undo({ operation_ids: ids });
    expect(status).toBe(200);
    expect(done.operations.map(({ operation_id }) => operation_id)).toEqual(ids.toReversed());
    expect([await thread.text("a.md"), await thread.text("b.md"), await thread.text("c.md")]).toEqual([
      null,
      null,
      null,
    ]);
    const [again, nothing] = await thread.undo({ path: thread.folder });
    expect([again, nothing.operations, nothing.already_undone.toSorted()]).toEqual([200, [], ids.toSorted()]);
  });

  it("undoes nothing if one was built upon, changed by hand or not kept, and says which and why", async () => {
    const thread = await workingThread();
    const first = await thread.create("a.md", "one");
    const second = await thread.overwrite("a.md", "two");
    const other = await thread.create("b.md", "three");
    const [status, refused] = await thread.undo({ operation_ids: [first, other] });
    expect([status, refused.conflicts]).toMatchObject([
      409,
      [{ operation_id: first, reason: "built_upon", later: [second] }],
    ]);
    expect([await thread.text("a.md"), await thread.text("b.md")]).toEqual([
      expect.stringContaining("two"),
      expect.stringContaining("three"),
    ]);
    await thread.put("b.md", "mine");
    const [, changed] = await thread.undo({ operation_ids: [first, second, other] }, { "accept-language": "zh" });
    expect(changed.conflicts).toMatchObject([
      { operation_id: other, reason: "changed", message: expect.stringContaining("修改") },
    ]);
    expect(await thread.text("a.md")).toContain("two");
    expect((await thread.undo({ operation_ids: [first, second] }))[0]).toBe(200);
    expect([await thread.text("a.md"), await thread.text("b.md")]).toEqual([null, "mine"]);
  });

  it("detects that a file was changed between two of its operations", async () => {
    const thread = await workingThread();
    const first = await thread.create("a.md", "one");
    await thread.put("a.md", "by hand");
    const second = await thread.overwrite("a.md", "two");
    const [status, { conflicts }] = await thread.undo({ operation_ids: [first, second] });
    expect([status, conflicts]).toMatchObject([409, [{ operation_id: first, reason: "changed" }]]);
    expect(await thread.text("a.md")).toContain("two");
  });

  it("undoes those of a run, and all since a message or a checkpoint", async () => {
    const { thread_id } = await server.client.threads.create();
    const say = (content: string) =>
      server.client.runs.wait(thread_id, "agent", { input: { messages: [{ role: "user", content }] } });
    await say('Create the file since-1.md with the text "one"');
    const { checkpoint } = await server.client.threads.getState(thread_id);
    await say('Create the file since-2.md with the text "two"');
    await say('Create the file since-3.md with the text "three"');
    const { values } = await server.client.threads.getState<{ messages: { id: string; type: string }[] }>(thread_id);
    const [, , third] = values.messages.filter(({ type }) => type === "human");
    const post = async (body: object): Promise<[number, string[]]> => {
      const answer = await server.send("POST", `/threads/${thread_id}/operations/undo`, body);
      return [answer.status, Undone.parse(await answer.json()).operations.map(({ path }) => path)];
    };
    expect(await post({ since_message: third?.id, dry_run: true })).toEqual([200, ["since-3.md"]]);
    expect(await post({ since_checkpoint: checkpoint.checkpoint_id, dry_run: true })).toEqual([
      200,
      ["since-3.md", "since-2.md"],
    ]);
    // The reply with the call counts too.
    const calls = values.messages.filter(({ type }) => type === "ai");
    const { operations } = Operations.parse(
      await (await server.send("GET", `/threads/${thread_id}/operations`)).json(),
    );
    const second = operations.find(({ path }) => path === "since-2.md");
    const reply = calls.find(({ id }) => id === second?.["message_id"]);
    expect((await post({ since_message: reply?.id, dry_run: true }))[1]).toEqual(["since-3.md", "since-2.md"]);
    expect(await post({ run_id: String(second?.["run_id"]) })).toEqual([200, ["since-2.md"]]);
    expect(await post({ since_checkpoint: checkpoint.checkpoint_id })).toEqual([200, ["since-3.md"]]);
    const text = (name: string) => readFile(join(server.config.workspace, name), "utf8").catch(() => null);
    expect([await text("since-1.md"), await text("since-2.md"), await text("since-3.md")]).toEqual([
      expect.stringContaining("one"),
      null,
      null,
    ]);
  });

  it("400 and 404: no or invalid ids, ids of another thread, unknown messages and checkpoints", async () => {
    const thread = await workingThread();
    const other = await workingThread();
    const foreign = await other.create("a.md", "x");
    const status = async (body: object): Promise<number> =>
      (await thread.send("POST", "/operations/undo", body)).status;
    expect(await status({})).toBe(400);
    expect(await status({ dry_run: true })).toBe(400);
    expect(await status({ operation_ids: [] })).toBe(400);
    expect(await status({ operation_ids: ["x"] })).toBe(400);
    expect(await status({ operation_ids: [foreign] })).toBe(404);
    expect(await status({ since_message: "none" })).toBe(404);
    expect(await status({ since_checkpoint: crypto.randomUUID() })).toBe(404);
    expect(await other.text("a.md")).toContain("x");
  });
});

describe("the changes of several operations", () => {
  it("are one for each file, with its content before and after", async () => {
    const thread = await workingThread();
    await thread.put("old.md", "old\n");
    await thread.put("moved.md", "as it was");
    const ids = [
      await thread.overwrite("old.md", "new\nlines\n"),
      await thread.create("a.md", "one"),
      await thread.overwrite("a.md", "two"),
      await thread.move("a.md", "b.md"),
    ];
    const moved = await thread.move("moved.md", "elsewhere.md");
    const gone = await thread.create("gone.md", "x");
    await thread.undo({ operation_ids: [gone] });
    const changes = await thread.changes();
    expect(changes).toMatchObject([
      { path: `${thread.folder}/old.md`, type: "modify", operations: [ids[0]], lines_added: 2, lines_removed: 1 },
      { path: `${thread.folder}/b.md`, type: "create", old_path: null, operations: ids.slice(1) },
      {
        path: `${thread.folder}/elsewhere.md`,
        type: "move",
        old_path: `${thread.folder}/moved.md`,
        operations: [moved],
      },
    ]);
    const content = async (id: string | undefined, side: string, headers = {}): Promise<[number, string]> => {
      const answer = await thread.send("GET", `/operations/${id}/content?side=${side}`, undefined, headers);
      return [answer.status, await answer.text()];
    };
    expect(await content(ids[0], "before")).toEqual([200, "old\n"]);
    expect(await content(ids[0], "after")).toEqual([200, "new\nlines\n"]);
    expect(await content(ids[0], "after", { range: "bytes=4-8" })).toEqual([206, "lines"]);
    const answer = await thread.send("GET", `/operations/${ids[0]}/content`);
    expect(answer.headers.get("content-disposition")).toContain("attachment");
    expect(answer.headers.get("content-type")).toBe("application/octet-stream");
    expect((await content(ids[1], "before"))[0]).toBe(404);
    expect((await content(ids[3], "after"))[0]).toBe(404);
    expect((await content(crypto.randomUUID(), "after"))[0]).toBe(404);
    expect((await content(ids[0], "middle"))[0]).toBe(400);
    expect(await thread.changes(`?path=${thread.folder}/old.md`)).toHaveLength(1);
    const page = await thread.send("GET", "/changes?limit=1");
    expect(page.headers.get("x-pagination-next")).toBe("1");
    expect(await thread.changes("?limit=1&cursor=2")).toMatchObject([{ type: "move" }]);
  });
});
