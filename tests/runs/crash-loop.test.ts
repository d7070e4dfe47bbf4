import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ServerProcess } from "../support/server-process.ts";

let folder = "";
let server: ServerProcess;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-crash-"));
  await mkdir(join(folder, "workspace"));
  const file = fileURLToPath(new URL("deadly-graphs.ts", import.meta.url));
  const graphs = { deadly: `${file}:deadly`, harmless: `${file}:harmless` };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  server = new ServerProcess(folder, join(folder, "workspace"));
  server.configure({ MILLRACE_GRAPHS: join(folder, "langgraph.json"), TRIES_FILE: join(folder, "tries") });
});
afterEach(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Starts the server again until the run has come to its end. */
async function startUntilOver(path: string): Promise<void> {
  for (let starts = 0; starts < 10; starts += 1) {
    if (await survives(path)) return;
    await server.kill();
    // A start can end before it answers.
    await server.start().catch(() => undefined);
  }
  throw new Error("The server did not stay up.");
}

/** Whether the server is there until the run has ended; one that it takes down breaks the answer off. */
function survives(path: string): Promise<boolean> {
  return fetch(`${server.url}${path}/join`)
    .then((response) => response.text())
    .then(
      () => true,
      () => false,
    );
}

it("sets a run aside that takes the server down three times, and serves the others", { timeout: 90_000 }, async () => {
  await server.start();
  const client = server.client;
  const [deadlyThread, otherThread] = [await client.threads.create(), await client.threads.create()];
  const input = { messages: [{ role: "user", content: "hello" }] };
  const other = await client.runs.create(otherThread.thread_id, "harmless", { input });
  const deadly = await client.runs.create(deadlyThread.thread_id, "deadly", { input });
  await startUntilOver(`/threads/${deadlyThread.thread_id}/runs/${deadly.run_id}`);
  expect(await readFile(join(folder, "tries"), "utf8")).toBe("try\n".repeat(3));
  expect(await client.runs.get(deadlyThread.thread_id, deadly.run_id)).toMatchObject({ status: "error" });
  await client.runs.join(otherThread.thread_id, other.run_id);
  expect(await client.runs.get(otherThread.thread_id, other.run_id)).toMatchObject({ status: "success" });
  await client.runs.wait(deadlyThread.thread_id, "harmless", { input });
  expect(await client.threads.get(deadlyThread.thread_id)).toMatchObject({ status: "idle" });
});
