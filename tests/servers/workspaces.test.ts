import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { createMemoryLedger } from "@millrace/engine/storage/memory";
import { type ModelServer, startModelServer } from "@millrace/testing/model-server";
import { deleteFile } from "../../src/tools/files/delete-file.ts";
import { moveFile } from "../../src/tools/files/move-file.ts";
import { writeFile } from "../../src/tools/files/write-file.ts";
import { executeCall } from "../../src/tools/runtime/execute-call.ts";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import type { ToolResult } from "../../src/tools/runtime/result.ts";
import { plainContext, type Tool } from "../../src/tools/runtime/tool.ts";
import { runRecord, sessionRecord } from "../contract/records.ts";
import { startPostgres } from "../support/processes/postgres.ts";
import { projectFolder } from "../support/source-files.ts";
import { toolkitParts } from "../support/toolkit-services.ts";
import { createServers, type Servers } from "./two-servers.ts";

const Asked = z.object({ approved_hash: z.string() });

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)("servers and the workspaces of their tools", () => {
  let servers: Servers;
  let model: ModelServer;
  let opened: PromiseWithResolvers<void>;
  let folder: string;
  /** A server whose workspace is the folder of that name. */
  const start = (name: string) => {
    const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
    mkdirSync(join(folder, name), { recursive: true });
    const graphs = join(projectFolder, "langgraph.json");
    const workspace = join(folder, name);
    return servers.start({ openai, model: "openai:scripted", graphs, workspace, drainSeconds: 0 });
  };

  beforeEach(async () => {
    servers = await createServers(postgres);
    folder = realpathSync(mkdtempSync(join(tmpdir(), "millrace-")));
    opened = Promise.withResolvers();
    model = await startModelServer({
      handler: async () => {
        await opened.promise;
        return { text: "It is 42." };
      },
    });
  });
  afterEach(async () => {
    opened.resolve();
    await servers.close();
    await model.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it("leave a run to servers with its workspace, and say why it waits", async () => {
    const [gone, other] = [await start("letters"), await start("numbers")];
    const id = readFileSync(join(folder, "letters", ".millrace-workspace"), "utf8").trim();
    expect(await (await gone.send("GET", "/server")).json()).toMatchObject({ servers: { workspace: id } });
    for (const server of [gone, other]) {
      expect(await (await server.send("GET", "/files")).json()).toMatchObject({ entries: [] });
      expect((await server.send("GET", "/files/content?path=.millrace-workspace")).status).toBe(403);
    }
    const begin = async () => {
      const { thread_id } = await gone.client.threads.create();
      const input = { messages: [{ role: "user", content: "What do my notes say?" }] };
      const { run_id } = await gone.client.runs.create(thread_id, "agent", { input, context: { mode: "free_work" } });
      await expect.poll(async () => (await gone.client.runs.get(thread_id, run_id)).status).toBe("running");
      return { thread_id, run_id };
    };
    const [first, stopped, deleted] = [await begin(), await begin(), await begin()];
    const behind = async ({ client }: typeof gone) => {
      const message = { role: "user", content: "And then?" };
      const more = { context: { mode: "free_work" }, multitaskStrategy: "enqueue" as const };
      return await client.runs.create(stopped.thread_id, "agent", { input: { messages: [message] }, ...more });
    };
    // The second run is the oldest of its thread when the one before it has been stopped.
    const queued = [await behind(gone), await behind(other)];
    await gone.close();
    const seen = (): Promise<unknown> => other.client.runs.get(first.thread_id, first.run_id);
    const reasons = { wait_reason: expect.stringContaining(id), wait_reason_zh: expect.stringContaining(id) };
    await expect.poll(seen).toMatchObject({ status: "running", ...reasons });
    await other.client.runs.cancel(stopped.thread_id, stopped.run_id, true);
    expect(await other.client.runs.get(stopped.thread_id, stopped.run_id)).toMatchObject({ status: "interrupted" });
    await other.client.runs.delete(deleted.thread_id, deleted.run_id);
    expect(await seen()).toMatchObject({ status: "running", ...reasons });

    const again = await start("letters");
    opened.resolve();
    expect(JSON.stringify(await other.client.runs.join(first.thread_id, first.run_id))).toContain("It is 42.");
    expect(await seen()).not.toHaveProperty("wait_reason");
    expect(await (await again.send("GET", "/server")).json()).toMatchObject({ servers: { workspace: id } });
    for (const { run_id } of queued) await other.client.runs.join(stopped.thread_id, run_id);
    expect(
      await servers.query(`SELECT attempt, crashes, runs.workspace = ANY (servers.workspaces) AS is_there
        FROM runs JOIN servers ON servers.id = runs.owner WHERE status = 'success' ORDER BY runs.id`),
    ).toEqual([
      { attempt: 2, crashes: 0, is_there: true },
      { attempt: 1, crashes: 0, is_there: true },
      { attempt: 1, crashes: 0, is_there: true },
    ]);
  });

  it("write the same path of a shared workspace one after the other, and other paths at once", async () => {
    const [server, other] = [await start("letters"), await servers.open()];
    const workspace = readFileSync(join(folder, "letters", ".millrace-workspace"), "utf8").trim();
    await other.cluster.announceGraphs([], { workspace, graphs: [] });
    const locks = other.pathLocks;
    if (locks === undefined) throw new Error("Servers on PostgreSQL have locks.");
    const { signal } = new AbortController();
    const write = async (path: string): Promise<number> =>
      (await server.send("PUT", `/files/content?path=${path}`, "text")).status;
    const tickets = () => servers.query("SELECT path FROM workspace_locks ORDER BY ticket");
    const waiting = [{ path: "/notes/" }, { path: "/notes/a.md/" }];
    const free = await locks.acquire(["/notes/"], signal);
    const first = write("Notes/a.md");
    await expect.poll(tickets).toEqual(waiting);
    expect(await write("b.md")).toBe(200);
    expect(await tickets()).toEqual(waiting);
    const stopped = new AbortController();
    const third = locks.acquire(["/"], stopped.signal);
    await expect.poll(tickets).toHaveLength(3);
    stopped.abort();
    await expect(third).rejects.toMatchObject({ code: "cancelled" });
    await free();
    expect(await first).toBe(200);
    await expect.poll(tickets).toEqual([]);

    // The locks of a server that has ended are released.
    await locks.acquire(["/c.md/"], signal);
    const second = write("c.md");
    await expect.poll(tickets).toHaveLength(2);
    await servers.query(`DELETE FROM servers WHERE id = ${other.cluster.id}`);
    expect(await second).toBe(200);
  });

  it("end a command in the background of a thread that another server deletes", async () => {
    const changes = { graphs: join(projectFolder, "langgraph.json"), sandbox: "off" as const };
    const shell = { ...changes, toolkits: ["default", "shell"] };
    const [one, other] = [await servers.start(shell), await servers.start(shell)];
    const { thread_id } = await one.client.threads.create();
    const place = (name: string): string => join(one.config.workspace, name);
    const script = "trap 'echo > gone; exit' TERM\necho > here\nwhile true; do sleep 0.02; done\n";
    writeFileSync(place("wait.sh"), script);
    const args = { command: "sh wait.sh", requires_approval: true, background: true };
    const path = `/threads/${thread_id}/tools/execute_command/run`;
    const { approved_hash } = Asked.parse(await (await one.send("POST", path, { args })).json());
    const begun = await one.send("POST", path, { args, approved_hash });
    expect(await begun.json()).toMatchObject({ result: { success: true } });
    await expect.poll(() => existsSync(place("here"))).toBe(true);
    await other.client.threads.delete(thread_id);
    await expect.poll(() => existsSync(place("gone"))).toBe(true);
  });

  it("report a path with a NUL in it as a failed call", async () => {
    const [server] = [await start("letters"), await start("letters")];
    const { thread_id } = await server.client.threads.create();
    const path = `/threads/${thread_id}/tools/create_folder/run`;
    const failed = await server.send("POST", path, { args: { path: "a/\0" } });
    expect(await failed.json()).toMatchObject({
      result: { success: false, message: expect.not.stringContaining("PostgreSQL") },
    });
    const calls = await (await server.send("GET", `/threads/${thread_id}/tool-log`)).json();
    expect(calls).toMatchObject({ calls: [{ tool: "create_folder", status: "failed" }] });
  });

  it("rename and delete nothing once another server may have taken the run", async () => {
    const storage = await servers.open();
    await storage.sessions.create(sessionRecord("s1"));
    const { claimed } = await storage.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
    const { ledger } = storage.attempt({ run_id: "r1", session_id: "s1", attempt: claimed?.attempt });
    // A server that was frozen after the start of its call goes on with the rest of it.
    const runtime = { locks: createLocks(), ledger: { ...createMemoryLedger(), confirm: ledger.confirm } };
    const call = (tool: Tool, callId: string, input: Record<string, string>): Promise<ToolResult> => {
      const { toolkitServices } = toolkitParts(folder);
      const { signal } = new AbortController();
      const context = plainContext({ workspace: folder, sessionId: "s1", callId, toolkitServices, signal });
      return executeCall({ tool, input, context, run_id: "r1", message_id: "m1" }, runtime);
    };
    expect(await call(writeFile, "c1", { path: "notes.md", content: "first" })).toMatchObject({ success: true });
    const { id } = storage.cluster;
    await servers.query(`DELETE FROM servers WHERE id = ${id}`);
    await expect.poll(() => storage.cluster.id !== id && storage.cluster.holdsLease()).toBe(true);
    const refused = { code: "conflict" };
    await expect(call(writeFile, "c2", { path: "notes.md", content: "second" })).rejects.toMatchObject(refused);
    await expect(call(writeFile, "c3", { path: "other.md", content: "second" })).rejects.toMatchObject(refused);
    const moved = { source: "notes.md", destination: "moved.md" };
    await expect(call(moveFile, "c4", moved)).rejects.toMatchObject(refused);
    await expect(call(deleteFile, "c5", { path: "notes.md" })).rejects.toMatchObject(refused);
    expect(readdirSync(folder)).toEqual(["notes.md"]);
    expect(readFileSync(join(folder, "notes.md"), "utf8")).toBe("first");
  });
});
