import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { copySession, forkSession } from "@millrace/engine/sessions/state/fork";
import { readMessages } from "@millrace/engine/sessions/messages/conversation";
import type { Graphs } from "@millrace/engine/graphs/load";
import { appendMessages } from "@millrace/engine/sessions/state/edit-messages";
import { exportSession } from "../../src/sessions/messages/export.ts";
import { importSession } from "../../src/sessions/messages/import.ts";
import { StoredMessage } from "@millrace/engine/sessions/messages/stored-message";
import type { Session } from "@millrace/engine/storage/records";
import type { Storage } from "@millrace/engine/storage/storage";
import { crashCopy, openIn } from "../runs/recovery/crash-copy.ts";
import { createRuns, createSession, plainGraph, serve } from "../runs/fixtures.ts";
import { withCopies } from "../runs/recovery/storage-copies.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-sessions-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** A storage that copies its file after each thing that making a session writes. */
function copied(storage: Storage, copies: string[]): Storage {
  const following = withCopies(storage, folder, (path) => copies.push(path));
  const ofNoRun = { session_id: "", run_id: "", attempt: undefined };
  return {
    ...storage,
    checkpointer: following.attempt(ofNoRun).checkpointer({ flushWith: (write) => write([], []) }),
    sessions: {
      ...storage.sessions,
      create: async (session) => {
        const created = await storage.sessions.create(session);
        copies.push(crashCopy(folder, join(folder, `made-${copies.length}`)));
        return created;
      },
    },
  };
}

const threadsIn = async ({ checkpointer }: Storage): Promise<string[]> => {
  const ids = new Set<string>();
  for await (const { config } of checkpointer.list({})) ids.add(String(config.configurable?.["thread_id"]));
  return [...ids].toSorted();
};

const partsOf = (storage: Storage): { storage: Storage; graphs: Graphs; runs: ReturnType<typeof createRuns> } => {
  const graphs = serve({ plain: plainGraph() }, storage.checkpointer);
  return { storage, graphs, runs: createRuns(storage, graphs) };
};

const makers: [string, (storage: Storage, source: Session) => Promise<Session>][] = [
  ["a copy", (storage, source) => copySession(partsOf(storage), source.session_id)],
  [
    "a fork",
    (storage, source) => forkSession(partsOf(storage), source.session_id, { messageId: "message-6", metadata: {} }),
  ],
  [
    "an import",
    async (storage, source) => {
      const messages = await readMessages(storage, source.session_id);
      const file: unknown = JSON.parse(JSON.stringify(exportSession(source, {}, messages, source.created_at)));
      return importSession(partsOf(storage), file, "plain");
    },
  ],
];

it.each(makers)("%s is there as a whole or not at all, wherever the process ends", async (_name, make) => {
  const file = openIn(folder);
  const source = await createSession(file);
  await file.sessions.update(source.session_id, { config: { configurable: { colour: "blue" } } });
  const graphs = serve({ plain: plainGraph() }, file.checkpointer);
  const parts = { storage: file, graphs, runs: createRuns(file, graphs) };
  for (let at = 0; at < 10; at += 1) {
    const message = { id: `message-${at}`, role: at % 2 === 0 ? "user" : "assistant", content: `words ${at}` };
    await appendMessages(parts, source, [StoredMessage.parse(message)], "plain");
  }
  const copies: string[] = [];
  const whole = await make(copied(file, copies), (await file.sessions.get(source.session_id)) ?? source);
  const words = (await readMessages(file, whole.session_id)).map(({ text }) => text);
  await file.close();
  expect(words.length).toBeGreaterThanOrEqual(7);
  expect(copies.length).toBeGreaterThan(5);

  let made = 0;
  let swept = 0;
  for (const [at, copy] of copies.entries()) {
    const storage = openIn(copy);
    try {
      if ((await threadsIn(storage)).length > (await storage.sessions.search({ limit: 9, offset: 0 })).total)
        swept += 1;
      await createRuns(storage, serve({ plain: plainGraph() }, storage.checkpointer)).recover();
      const { sessions } = await storage.sessions.search({ limit: 9, offset: 0 });
      expect(await threadsIn(storage), `point ${at}`).toEqual(sessions.map(({ session_id }) => session_id).toSorted());
      expect(await readMessages(storage, source.session_id)).toHaveLength(10);
      const found = await storage.sessions.get(whole.session_id);
      if (found === undefined) continue;
      made += 1;
      expect(found).toEqual(whole);
      expect((await readMessages(storage, whole.session_id)).map(({ text }) => text)).toEqual(words);
    } finally {
      await storage.close();
    }
  }
  expect([made, swept]).toEqual([1, copies.length - 1]);
});
