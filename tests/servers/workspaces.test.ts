import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { type ModelServer, startModelServer } from "@millrace/testing/model-server";
import { startPostgres } from "../support/processes/postgres.ts";
import { projectFolder } from "../support/source-files.ts";
import { createServers, type Servers } from "./two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)("servers and the folders that tools work in", () => {
  let servers: Servers;
  let model: ModelServer;
  let opened: PromiseWithResolvers<void>;
  let folder: string;
  /** A server whose workspace is a folder of that name. */
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

  it("leave a run to those that have mounted its folder, and say why it waits", async () => {
    const [gone, other] = [await start("letters"), await start("numbers")];
    const id = readFileSync(join(folder, "letters", ".millrace-workspace"), "utf8").trim();
    expect(await (await gone.send("GET", "/server")).json()).toMatchObject({ servers: { workspace: id } });
    for (const { send } of [gone, other]) {
      expect(await (await send("GET", "/files")).json()).toMatchObject({ entries: [] });
      expect((await send("GET", "/files/content?path=.millrace-workspace")).status).toBe(403);
    }
    const begin = async () => {
      const { thread_id } = await gone.client.threads.create();
      const input = { messages: [{ role: "user", content: "What do my notes say?" }] };
      const { run_id } = await gone.client.runs.create(thread_id, "agent", { input, context: { mode: "free_work" } });
      await expect.poll(async () => (await gone.client.runs.get(thread_id, run_id)).status).toBe("running");
      return { thread_id, run_id };
    };
    const [first, stopped, deleted] = [await begin(), await begin(), await begin()];
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
    expect(await servers.query("SELECT attempt, crashes FROM runs WHERE status = 'success'")).toEqual([
      { attempt: 2, crashes: 0 },
    ]);
  });
});
