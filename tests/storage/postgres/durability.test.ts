import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import type { AttemptStore, UnstoredEvents } from "@millrace/engine/storage/attempt-store";
import type { RunEvent } from "@millrace/engine/run-events";
import type { Storage } from "@millrace/engine/storage/storage";
import { cronRecord } from "../../contract/crons.ts";
import { runRecord, sessionRecord } from "../../contract/records.ts";
import { requestOf } from "../../contract/runs/model-requests.ts";
import { operation } from "../../contract/runs/operations.ts";
import { startPostgres, withClient } from "../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

/** Records, right before the commit of each change, whether the commit waits for the disk. */
const noteCommits = `CREATE TABLE commits (waits text);
  CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO commits VALUES (current_setting('synchronous_commit'));
    RETURN NULL;
  END $$;
  DO $$ DECLARE name text; BEGIN
    FOREACH name IN ARRAY ARRAY['sessions', 'runs', 'crons', 'tool_calls', 'operations', 'checkpoint_rows', 'run_events',
      'model_requests', 'approvals'] LOOP
      EXECUTE format('CREATE CONSTRAINT TRIGGER noted AFTER INSERT OR UPDATE OR DELETE ON %I
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION note_commit()', name);
    END LOOP;
  END $$`;

interface Given {
  storage: Storage;
  attempt: AttemptStore;
}

const call = (effect: "pure" | "idempotent" | "unsafe" | "reconcilable") => ({
  session_id: "s1",
  run_id: "r1",
  tool_call_id: "c1",
  tool: "t",
  effect,
});
const outcome = { status: "success", session_status: "idle", interrupts: {} } as const;
const asking = { ...outcome, interrupts: { t1: [{ id: "i1", value: "sure?" }] } };
const event: RunEvent = { id: 0, at: 0, event: "metadata", data: { run_id: "r1", attempt: 1 } };
const unstored: UnstoredEvents = { flushWith: (write) => write([event], []) };

/** An action, and what has to be done before it. */
type Act = (given: Given) => Promise<unknown>;
const nothing: Act = async () => undefined;

const waiting: [what: string, act: Act, before?: Act][] = [
  ["an admission", ({ storage }) => storage.runs.admit(runRecord("r2", "s1"))],
  [
    "an admission that starts at once",
    async ({ storage, attempt }) => {
      await storage.runs.admit(runRecord("r2", "s1"), { hasRoom: true });
      return attempt;
    },
    ({ attempt }) => attempt.finish(outcome),
  ],
  [
    "an admission that answers a question",
    ({ storage }) =>
      storage.runs.admit(
        runRecord("r2", "s1", { kwargs: { ...runRecord("r2", "s1").kwargs, command: { resume: "yes" } } }),
      ),
    ({ attempt }) => attempt.finish(asking),
  ],
  [
    "a claim",
    ({ storage }) => storage.runs.claim("s1"),
    async ({ storage, attempt }) => {
      await storage.runs.admit(runRecord("r2", "s1"));
      await attempt.finish(outcome);
    },
  ],
  ["a next attempt", ({ storage }) => storage.runs.reclaim("r1")],
  ["a stop", ({ storage }) => storage.runs.requestStop("r1", "interrupt")],
  ["ids of events", ({ attempt }) => attempt.reserve(5000)],
  ["a release", ({ attempt }) => attempt.park()],
  ["an end", ({ attempt }) => attempt.finish(outcome)],
  ["an end with its last events", ({ attempt }) => attempt.finish(outcome, unstored)],
  ["an end that leaves a question", ({ attempt }) => attempt.finish(asking, unstored)],
  ...(["idempotent", "unsafe", "reconcilable"] as const).flatMap((effect): typeof waiting => [
    [`the start of an ${effect} call`, ({ attempt }) => attempt.ledger.start(call(effect))],
    [
      `the result of an ${effect} call`,
      ({ attempt }) => attempt.ledger.finish("s1", "c1", 1),
      ({ attempt }) => attempt.ledger.start(call(effect)),
    ],
  ]),
  ["an operation before its change", ({ attempt }) => attempt.operations.begin(operation("o1"), new Map())],
  ["a cron", ({ storage }) => storage.crons.create(cronRecord("n1"))],
];

const quick: typeof waiting = [
  ["a session", ({ storage }) => storage.sessions.create(sessionRecord("s2"))],
  ["a change of a session", ({ storage }) => storage.sessions.update("s1", { metadata: { a: 1 } })],
  ["events", ({ attempt }) => attempt.append([event])],
  [
    "a checkpoint",
    ({ attempt }) =>
      attempt
        .checkpointer(unstored)
        .put({ configurable: { thread_id: "s1" } }, emptyCheckpoint(), { source: "loop", step: 0, parents: {} }, {}),
  ],
  ["the start of a pure call", ({ attempt }) => attempt.ledger.start(call("pure"))],
  [
    "the result of a pure call",
    ({ attempt }) => attempt.ledger.finish("s1", "c1", 1),
    ({ attempt }) => attempt.ledger.start(call("pure")),
  ],
  ["a request to a model", ({ attempt }) => attempt.requests.record(requestOf())],
];

describe.skipIf(server === undefined)("a commit in PostgreSQL", () => {
  let url: string;
  let given: Given;
  beforeEach(async () => {
    url = (await server?.create()) ?? "";
    const storage = await createPostgresStorage(url);
    given = { storage, attempt: storage.attempt({ session_id: "s1", run_id: "r1", attempt: 1 }) };
    await storage.sessions.create(sessionRecord("s1"));
    await storage.runs.admit(runRecord("r1", "s1"), { hasRoom: true });
  });
  afterEach(() => given.storage.close());

  /** The distinct values of `synchronous_commit` in the commits of an action. */
  async function commitsOf(act: Act, before: Act): Promise<unknown[]> {
    await before(given);
    return await withClient(url, async (client) => {
      await client.query(noteCommits);
      await act(given);
      const { rows } = await client.query<{ waits: string }>("SELECT DISTINCT waits FROM commits");
      return rows.map(({ waits }) => waits);
    });
  }

  it.each(waiting)("of %s waits for the disk", async (_what, act, before = nothing) => {
    expect(await commitsOf(act, before)).toEqual(["on"]);
  });

  it.each(quick)("of %s does not wait for the disk", async (_what, act, before = nothing) => {
    expect(await commitsOf(act, before)).toEqual(["off"]);
  });
});
