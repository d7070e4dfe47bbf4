import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, expect, it } from "vitest";
import { openIn } from "../runs/recovery/crash-copy.ts";
import { collect, createSession, never, request } from "../runs/fixtures.ts";
import { withCopies } from "../runs/recovery/storage-copies.ts";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { agentFiles, hands, scriptsOf } from "./agent-flow.ts";
import { agentRuns } from "./agent-runs.ts";

let folder: string;
let model: ModelServer;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "millrace-agents-")));
  for (const [path, text] of Object.entries(agentFiles({ one: {}, two: {}, three: {} }))) {
    await mkdir(join(folder, "workspace", ".autocoderagents"), { recursive: true });
    await writeFile(join(folder, "workspace", path), text);
  }
});
afterEach(async () => {
  await model.close();
  await rm(folder, { recursive: true });
});

const makes = (title: string) => ({ toolCalls: [{ name: "add_item", arguments: { title }, id: `make-${title}` }] });

it.each(["parallel", "serial"] as const)(
  "goes on with %s agents wherever the process ended, and no effect happens twice",
  async (mode) => {
    model = await startModelServer({
      handler: scriptsOf({
        caller: [hands(mode, { one: "Go", two: "Go", three: "Go" }), { text: "All have reported." }],
        one: [makes("first"), makes("second"), { text: "Two tasks." }],
        two: [makes("third"), { text: "One task." }],
        three: [{ text: "No task." }],
      }),
    });
    const file = openIn(folder);
    const copies: string[] = [];
    const runs = agentRuns(
      withCopies(file, folder, (path) => copies.push(path)),
      join(folder, "workspace"),
      model,
    );
    const session = await createSession(file);
    const input = { messages: [{ role: "user", content: "Share the work" }] };
    const run = await runs.start(session, request("agent", { input, context: { mode: "free_work" } }));
    await collect(runs.follow(run.run_id, -1, never));
    await runs.drain(0);
    await file.close();
    expect(copies.length).toBeGreaterThan(30);

    let neededBefore = Infinity;
    for (const [at, copy] of copies.entries()) {
      // A sample, and in each run another.
      if (at % 5 !== (mode === "serial" ? 0 : 1)) continue;
      const asked = model.requests.length;
      const storage = openIn(copy);
      const after = agentRuns(storage, join(folder, "workspace"), model);
      try {
        await after.recover();
        await collect(after.follow(run.run_id, -1, never));
        await after.drain(0);
        expect((await storage.runs.get(run.run_id))?.status, `point ${at}`).toBe("success");
        const config = { configurable: { thread_id: session.session_id } };
        const values: unknown = (await storage.checkpointer.getTuple(config))?.checkpoint.channel_values;
        // The workflow's state has messages.
        const { messages } = values as { messages: BaseMessage[] };
        expect(messages.map((message) => message.getType())).toEqual(["human", "ai", "tool", "ai"]);
        expect(messages.find(isToolMessage)?.text, `point ${at}`).toMatch(/3 of 3.*Two tasks.*One task.*No task/su);
        const tasks = await storage.tasks.find({ staging: true });
        const known = new Set(["first", "second", "third"]);
        for (const { title } of tasks) expect(known.delete(title), `${title} twice, point ${at}`).toBe(true);
        const rows = await storage.ledger.list(session.session_id);
        expect(new Set(rows.map(({ tool_call_id }) => tool_call_id)).size).toBe(3);
        expect(rows.filter(({ state }) => state === "finished").length, `point ${at}`).toBe(3);
        // A later point never needs more of the model: what is finished is not asked for again.
        const needed = model.requests.length - asked;
        expect(needed, `point ${at}`).toBeLessThanOrEqual(neededBefore);
        neededBefore = needed;
      } finally {
        await storage.close();
      }
    }
    // At the last points only the caller's own reply was missing.
    expect(neededBefore).toBeLessThanOrEqual(1);
    expect(model.unexpected).toEqual([]);
  },
);
