import { afterEach, beforeEach, expect, test } from "vitest";
import { copySession, forkSession } from "@millrace/engine/sessions/state/fork";
import { appendMessages } from "@millrace/engine/sessions/state/edit-messages";
import { exportFormat } from "../../src/sessions/messages/export.ts";
import { findSessions } from "../../src/sessions/overview/find-sessions.ts";
import { importSession } from "../../src/sessions/messages/import.ts";
import { deleteSession } from "@millrace/engine/sessions/sessions";
import { StoredMessage } from "@millrace/engine/sessions/messages/stored-message";
import { createHarness, createSession, never, plainGraph, type Harness } from "../runs/fixtures.ts";

const states = 25;
let bench: Harness;
beforeEach(async () => {
  bench = await createHarness({ plain: plainGraph() });
  for (let at = 0; at < states; at += 1) {
    const message = StoredMessage.parse({ id: `said-${at}`, role: "user", content: `words ${at}` });
    await appendMessages(bench, bench.session, [message], "plain");
  }
});
afterEach(() => bench.runs.drain(0));

/** How often others could be served while this went on. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work;
  isOver = true;
  return turns;
}

test("others are served between any two states that are copied, and any two sessions that are looked through", async () => {
  const { storage, session } = bench;
  expect(await turnsDuring(copySession(bench, session.session_id))).toBeGreaterThan(states);
  const place = { messageId: `said-${states - 1}`, metadata: {} };
  expect(await turnsDuring(forkSession(bench, session.session_id, place))).toBeGreaterThan(states);
  for (let at = 0; at < states; at += 1) await createSession(storage);
  const query = { text: "words without a match", limit: 10, cursor: 0 };
  expect(await turnsDuring(findSessions(storage, query, never))).toBeGreaterThan(states);
});

test("others are served while a long file is imported, and a wrong message far behind is named by its place", async () => {
  const messages = Array.from({ length: 2000 }, (_, at) => ({
    role: at % 20 === 0 ? "user" : "assistant",
    content: "x",
  }));
  const file = { format: exportFormat.name, version: 1, messages };
  // One turn for each state that is written, and one for each hundred messages that are read or made.
  expect(await turnsDuring(importSession(bench, file, "plain"))).toBeGreaterThan(100 + 2 * 19);
  const wrong = { ...file, messages: [...messages, { role: "user", content: 7 }, { role: "owl", content: "hoo" }] };
  await expect(importSession(bench, wrong, "plain")).rejects.toMatchObject({
    code: "invalid_format",
    message: expect.stringMatching(/messages\.2000\.content: .*messages\.2001\.role: expected user/u),
  });
});

test.each([
  ["a copy", () => copySession(bench, bench.session.session_id)],
  ["a fork", () => forkSession(bench, bench.session.session_id, { messageId: "said-20", metadata: {} })],
])("%s of a session that is deleted meanwhile is none, and leaves nothing", async (_name, make) => {
  const [made] = await Promise.allSettled([make(), deleteSession(bench, bench.session.session_id)]);
  expect(made).toMatchObject({ status: "rejected", reason: { code: "not_found" } });
  expect((await bench.storage.sessions.search({ limit: 10, offset: 0 })).sessions).toEqual([]);
  expect(await bench.storage.sessions.deleteUnfinished()).toBe(0);
});
