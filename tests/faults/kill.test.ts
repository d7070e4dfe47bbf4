import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@langchain/langgraph-sdk";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { ServerProcess } from "../support/server-process.ts";
import {
  startModelServer,
  wireText,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
} from "../support/model-server.ts";
import { finishedTools, readDatabase } from "./database.ts";
import { projectFolder } from "../support/source-files.ts";

/** Kills of the short form; the whole has 30. */
const kills = Number(process.env["KILLS"] ?? 10);
/** Milliseconds from the answer to the request until the kill, at most: about as long as the run takes. */
const longestWait = 260;
const seed = Number(process.env["SEED"] ?? Date.now() % 100_000);

let folder = "";
let server: ServerProcess;
let model: ModelServer;

/** Both tools for the item of the request, then an answer; decided by the history, so a repeated request is the same. */
function answer(request: ModelRequest): ModelStep {
  const item = wireText(request.messages[1] ?? { role: "user", content: "" });
  const results = request.messages.filter((message) => message.role === "tool").length;
  const names = ["send_once", "set_again"];
  const name = names[results];
  return name === undefined
    ? { text: `All done with ${item}.`, delayMs: 3 }
    : { toolCalls: [{ name, arguments: { item }, id: `${item}-${name}` }] };
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-kill-"));
  await mkdir(join(folder, "workspace"));
  await writeFile(join(folder, "effects"), "");
  const graph = join(projectFolder, "tests/faults/two-tools.ts:graph");
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs: { work: graph } }));
  model = await startModelServer({ handler: answer });
  server = new ServerProcess(folder, join(folder, "workspace"));
  server.configure({
    MILLRACE_GRAPHS: join(folder, "langgraph.json"),
    EFFECTS_FILE: join(folder, "effects"),
    // The kills come from outside: no run is to blame for them.
    MILLRACE_CRASH_BUDGET: "1000",
    OPENAI_BASE_URL: model.url,
    OPENAI_API_KEY: "test-key",
  });
});
afterEach(async () => {
  await server.stop();
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

const Messages = z.object({ messages: z.array(z.looseObject({ type: z.string(), content: z.string() })) });

/** Waits for the run's end and gives the texts of the session. */
async function finished(
  client: Client,
  threadId: string,
  runId: string,
): Promise<{ status: string; texts: [string, string][] }> {
  await client.runs.join(threadId, runId);
  const { status } = await client.runs.get(threadId, runId);
  const state = await client.threads.getState(threadId);
  const { messages } = Messages.parse(state.values);
  return { status, texts: messages.map(({ type, content }) => [type, content]) };
}

/** How often each tool really did something for each item, by its own record. */
async function effectCounts(): Promise<Map<string, number>> {
  const lines = (await readFile(join(folder, "effects"), "utf8")).trim().split("\n");
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

describe("kill -9 at a random moment of a run with two tools", () => {
  it(`loses nothing and repeats nothing in ${kills} kills (seed ${seed})`, { timeout: 240_000 }, async () => {
    let random = seed;
    const waits = Array.from({ length: kills }, () => {
      random = (random * 48_271 + 11) % 2_147_483_647;
      return random % longestWait;
    });
    const runs: { threadId: string; runId: string; item: string }[] = [];
    const database = join(folder, "data", "millrace.db");
    const finishedAtKill: { line: string; count: number }[] = [];
    let hits = 0;
    await server.start();
    for (const [index, wait] of waits.entries()) {
      const item = `item${index}`;
      const { thread_id: threadId } = await server.client.threads.create();
      const input = { messages: [{ role: "user", content: item }] };
      const { run_id: runId } = await server.client.runs.create(threadId, "work", { input });
      runs.push({ threadId, runId, item });
      await delay(wait);
      await server.kill();
      if (readDatabase(database).unfinishedRuns > 0) hits += 1;
      const done = await effectCounts();
      for (const tool of finishedTools(database, threadId)) {
        const line = `${tool} ${item}`;
        finishedAtKill.push({ line, count: done.get(line) ?? 0 });
      }
      await server.start();
    }
    expect(hits, "kills in the middle of a run").toBeGreaterThan(0);

    let unknown = 0;
    for (const { threadId, runId, item } of runs) {
      const { status, texts } = await finished(server.client, threadId, runId);
      expect(status, item).toBe("success");
      expect(texts[0], item).toEqual(["human", item]);
      expect(texts.at(-1), item).toEqual(["ai", `All done with ${item}.`]);
      expect(
        texts.filter(([type]) => type === "tool"),
        item,
      ).toHaveLength(2);
      if (texts.some(([type, text]) => type === "tool" && text.includes("not known"))) unknown += 1;
    }

    const counts = await effectCounts();
    for (const { item } of runs) {
      expect(counts.get(`send_once ${item}`) ?? 0, `send_once ${item}`).toBeLessThanOrEqual(1);
      expect(counts.get(`set_again ${item}`) ?? 0, `set_again ${item}`).toBeGreaterThanOrEqual(1);
    }
    // A call that had its end in the ledger when the process died has had its effect, and has it once.
    for (const { line, count } of finishedAtKill) expect(counts.get(line) ?? 0, line).toBe(count);
    const missing = runs.filter(({ item }) => !counts.has(`send_once ${item}`)).length;
    // A call that was begun and has no known end is told, not repeated: only then may its effect be missing.
    expect(missing).toBeLessThanOrEqual(unknown);
  });
});
