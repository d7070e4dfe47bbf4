import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemAssistantId } from "@millrace/engine/graphs/assistants";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { cronRecord } from "../contract/crons.ts";
import { sessionRecord } from "../contract/records.ts";
import { ServerProcess } from "../support/processes/server-process.ts";

let folder: string;
let server: ServerProcess;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-crons-"));
  await mkdir(join(folder, "workspace"));
  await mkdir(join(folder, "data"));
  const graphs = { keeper: `${fileURLToPath(new URL("../support/test-graphs.ts", import.meta.url))}:keeper` };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  server = new ServerProcess(folder, join(folder, "workspace"));
  // On a slow machine a run is at work in each kill; with the usual three crashes it would be set aside, as it should.
  server.configure({ MILLRACE_GRAPHS: join(folder, "langgraph.json"), MILLRACE_CRASH_BUDGET: "10" });
});
afterEach(async () => {
  await server.kill();
  await rm(folder, { recursive: true, force: true });
});

test("a server that is killed while it starts due runs repeats none and loses none", { timeout: 300_000 }, async () => {
  const assistant_id = systemAssistantId("keeper");
  const due = new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000).toISOString();
  const sessions = Array.from({ length: 20 }, () => crypto.randomUUID());
  const before = createSqliteStorage(server.databaseFile);
  for (const session_id of sessions) {
    await before.sessions.create(sessionRecord(session_id));
    const payload = { assistant_id, input: { note: session_id } };
    const fields = { session_id, assistant_id, payload, next_run_date: due, schedule: "0 0 1 1 *" };
    await before.crons.create(cronRecord(crypto.randomUUID(), fields));
    // And one whose runs have threads of their own.
    const alone = { ...fields, session_id: null, on_run_completed: "keep", metadata: { twin: session_id } } as const;
    await before.crons.create(cronRecord(crypto.randomUUID(), alone));
  }
  await before.close();

  for (let times = 0; times < 3; times += 1) {
    await server.start();
    await server.kill();
  }
  await server.start();
  const { client } = server;
  const succeeded = async (): Promise<number> => {
    const threads = await client.threads.search({ limit: 100, select: ["thread_id"] });
    const runs = await Promise.all(threads.map(({ thread_id }) => client.runs.list(thread_id, { status: "success" })));
    return runs.flat().length;
  };
  await expect.poll(succeeded, { timeout: 240_000, interval: 500 }).toBeGreaterThanOrEqual(2 * sessions.length);
  await server.stop();

  const after = createSqliteStorage(server.databaseFile);
  const all = await after.sessions.search({ limit: 100, offset: 0 });
  const runs = await Promise.all(
    all.sessions.map(({ session_id }) => after.runs.list(session_id, { limit: 10, offset: 0 })),
  );
  await after.close();
  expect(runs.map((list) => list.length)).toEqual(Array.from(runs, () => 1));
  const ended = runs.flat().map(({ status, metadata }) => [status, metadata["cron_date"]]);
  expect(ended).toEqual(Array.from(runs, () => ["success", due]));
  const twins = runs.flat().flatMap(({ metadata: { twin } }) => (typeof twin === "string" ? [twin] : []));
  expect(twins.toSorted()).toEqual(sessions.toSorted());
});
