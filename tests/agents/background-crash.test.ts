import { withAttempts } from "../support/test-storage.ts";
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, expect, it } from "vitest";
import { listBackground } from "../../src/agent-runs/background.ts";
import type { Storage } from "@millrace/engine/storage/storage";
import { crashCopy, openIn } from "../runs/recovery/crash-copy.ts";
import { collect, createSession, never, request } from "../runs/fixtures.ts";
import { withCopies } from "../runs/recovery/storage-copies.ts";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { agentFiles, hands, scriptsOf } from "./agent-flow.ts";
import { agentRuns } from "./agent-runs.ts";

let folder: string;
let model: ModelServer;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "millrace-background-")));
  await mkdir(join(folder, "workspace", ".autocoderagents"), { recursive: true });
  for (const [path, text] of Object.entries(agentFiles({ one: {}, two: {} }))) {
    await writeFile(join(folder, "workspace", path), text);
  }
});
afterEach(async () => {
  await model.close();
  await rm(folder, { recursive: true });
});

/** The same, copied also before and after an agent's session is made, its run admitted, and the call written down. */
function withCopiesAround(storage: Storage, copy: () => void): Storage {
  const around =
    <Given extends unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      copy();
      const result = await work(...given);
      copy();
      return result;
    };
  const { sessions, runs } = storage;
  const followed = withAttempts(storage, ({ ledger }) => ({
    ledger: {
      ...ledger,
      start: around((...given: Parameters<typeof ledger.start>) => ledger.start(...given)),
      finish: around((...given: Parameters<typeof ledger.finish>) => ledger.finish(...given)),
    },
  }));
  return {
    ...followed,
    sessions: {
      ...sessions,
      create: around((...given: Parameters<typeof sessions.create>) => sessions.create(...given)),
    },
    runs: { ...runs, admit: around((...given: Parameters<typeof runs.admit>) => runs.admit(...given)) },
  };
}

it("begins each agent once and brings all to their end, wherever the process ended", async () => {
  model = await startModelServer({
    handler: scriptsOf({
      caller: [hands("background", { one: "Go", two: "Go" }), { text: "They work." }],
      one: [
        { toolCalls: [{ name: "add_item", arguments: { title: "first" }, id: "make" }] },
        { text: "A task is there." },
      ],
      two: [{ text: "No task." }],
    }),
  });
  const workspace = join(folder, "workspace");
  const file = openIn(folder);
  const session = await createSession(file);
  const copies: string[] = [];
  const copy = (): void => {
    copies.push(crashCopy(folder, join(folder, `around-${copies.length}`)));
  };
  const runs = agentRuns(
    withCopiesAround(
      withCopies(file, folder, (path) => copies.push(path)),
      copy,
    ),
    workspace,
    model,
  );
  const input = { messages: [{ role: "user", content: "Send them" }] };
  const run = await runs.start(session, request("agent", { input, context: { mode: "free_work" } }));
  await runs.wait(run.run_id, never);
  for (const agent of await listBackground(file, session)) {
    await collect(runs.follow(agent.run_id ?? "", -1, never));
  }
  await runs.drain(0);
  await file.close();
  expect(copies.length).toBeGreaterThan(30);

  let checked = 0;
  for (const [at, place] of copies.entries()) {
    // A sample: to open a database takes a while.
    if (at % 5 !== 0) continue;
    const storage = openIn(place);
    try {
      // The first copies are of a moment before the caller's own run was admitted.
      if ((await storage.runs.get(run.run_id)) === undefined) continue;
      checked += 1;
      const after = agentRuns(storage, workspace, model);
      await after.recover();
      await collect(after.follow(run.run_id, -1, never));
      const agents = await listBackground(storage, session);
      expect(
        agents.map(({ name }) => name),
        `point ${at}`,
      ).toEqual(["one", "two"]);
      for (const { run_id } of agents) await collect(after.follow(run_id ?? "", -1, never));
      await after.drain(0);
      const ended = await listBackground(storage, session);
      expect(
        ended.map(({ report }) => report?.reply),
        `point ${at}`,
      ).toEqual(["A task is there.", "No task."]);
      for (const { session_id } of ended)
        expect(await storage.runs.list(session_id, { limit: 9, offset: 0 })).toHaveLength(1);
      const tasks = await storage.tasks.find({ staging: true });
      expect(
        tasks.map(({ title }) => title),
        `point ${at}`,
      ).toEqual(["first"]);
      const values = (await storage.checkpointer.getTuple({ configurable: { thread_id: session.session_id } }))
        ?.checkpoint;
      // The workflow's state has messages.
      const messages = values?.channel_values["messages"] as BaseMessage[];
      expect(
        messages.map((message) => message.getType()),
        `point ${at}`,
      ).toEqual(["human", "ai", "tool", "ai"]);
      expect(messages.find(isToolMessage)?.text, `point ${at}`).toContain("2 of 2 agents work in the background now.");
    } finally {
      await storage.close();
    }
  }
  expect(checked).toBeGreaterThan(8);
  expect(model.unexpected).toEqual([]);
});
