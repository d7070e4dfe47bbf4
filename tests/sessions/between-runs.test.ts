import { afterEach, beforeEach, expect, test } from "vitest";
import { isAppError } from "@millrace/engine/errors/errors";
import { messagesIn } from "@millrace/engine/sessions/messages/conversation";
import { appendMessages, updateMessage } from "@millrace/engine/sessions/state/edit-messages";
import { pruneSessions } from "@millrace/engine/sessions/state/prune";
import { deleteSession, readValues } from "@millrace/engine/sessions/sessions";
import { updateState } from "@millrace/engine/sessions/state/state";
import { StoredMessage } from "@millrace/engine/sessions/messages/stored-message";
import { createHarness, createGate, never, plainGraph, request, settle, type Harness } from "../runs/fixtures.ts";

let bench: Harness;
let gate: ReturnType<typeof createGate>;
beforeEach(async () => {
  gate = createGate();
  bench = await createHarness({ plain: plainGraph() });
  await append("first");
});
afterEach(() => bench.runs.drain(0));

/** The next write of a checkpoint waits for the gate. */
function holdNextWrite(): void {
  bench.storage.beforePut = () => {
    bench.storage.beforePut = undefined;
    return gate.pass();
  };
}

const message = (words: string) => StoredMessage.parse({ id: `id-${words}`, role: "user", content: words });
const append = (words: string) => appendMessages(bench, bench.session, [message(words)], "plain");
const says = async (): Promise<string[]> =>
  messagesIn(await readValues(bench.storage, bench.session.session_id)).map(({ text }) => text);
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "done",
    (error: unknown) => (isAppError(error) ? error.code : String(error)),
  );

/** Begins a run while `change` is held back in the middle of its write, and lets both go on. */
async function runAmid(change: () => Promise<unknown>): Promise<void> {
  holdNextWrite();
  const changing = change();
  await gate.arrived;
  const starting = bench.runs.start(bench.session, request("plain"));
  await settle();
  expect((await bench.storage.sessions.get(bench.session.session_id))?.status).toBe("idle");
  gate.open();
  await changing;
  await bench.runs.wait((await starting).run_id, never);
}

test("a run that comes while messages are added begins after them, and nothing is lost", async () => {
  await runAmid(() => append("second"));
  expect(await says()).toEqual(["first", "second", "hello"]);
});

test("a run that comes while the state is changed begins after the change", async () => {
  const { session_id } = bench.session;
  await runAmid(() =>
    updateState(bench, session_id, { values: { steps: ["outside"] }, as_node: "two", checkpoint: {} }),
  );
  const states = [];
  for await (const { checkpoint } of bench.storage.checkpointer.list({ configurable: { thread_id: session_id } })) {
    states.push(checkpoint.channel_values["steps"]);
  }
  expect(states.slice(0, 3)).toEqual([["one", "two"], ["one"], ["outside"]]);
});

test("changes of one session at the same moment come one after the other, and none is lost", async () => {
  await Promise.all([
    ...["a", "b", "c"].map((words) => append(words)),
    updateMessage(bench, bench.session, "id-first", { content: "changed" }),
  ]);
  expect(await says()).toEqual(["changed", "a", "b", "c"]);
});

test("a session that goes while its messages are changed leaves nothing behind", async () => {
  holdNextWrite();
  const { session_id } = bench.session;
  const adding = append("late");
  await gate.arrived;
  const deleting = deleteSession(bench, session_id);
  await settle();
  const [after, state] = [codeOf(append("later")), codeOf(updateState(bench, session_id, { checkpoint: {} }))];
  gate.open();
  await Promise.all([adding, deleting]);
  expect([await after, await state]).toEqual(["not_found", "not_found"]);
  expect(await bench.storage.checkpointer.getTuple({ configurable: { thread_id: session_id } })).toBeUndefined();
});

test("a session whose messages are being changed is pruned when they are", async () => {
  let atPrune: string[] = [];
  Object.assign(bench.storage.checkpointer, {
    prune: async () => {
      atPrune = await says();
    },
    vacuum: async () => undefined,
  });
  holdNextWrite();
  const adding = append("second");
  await gate.arrived;
  const ids = [bench.session.session_id, crypto.randomUUID()];
  const pruned = pruneSessions(bench, { ids, strategy: "keep_latest" });
  await settle();
  gate.open();
  await adding;
  expect(await pruned).toBe(1);
  expect(atPrune).toEqual(["first", "second"]);
});

test("a failed change does not block later ones", async () => {
  const failing = codeOf(updateMessage(bench, bench.session, "id-unknown", { content: "x" }));
  await append("second");
  expect(await failing).toBe("not_found");
  expect(await says()).toEqual(["first", "second"]);
});
