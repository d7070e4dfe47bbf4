import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { command, isEnd, openEvents, type WireAnswer, type WireEvent } from "../../support/requests/protocol-client.ts";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

const start = async (threadId: string, assistant_id: string, input: unknown, more: object = {}): Promise<string> => {
  const { result } = await command(server, threadId, "run.start", { assistant_id, input, ...more });
  return String(result["run_id"]);
};
const seqs = (events: WireEvent[]): number[] => events.map(({ seq }) => seq);
const runOf = ({ event_id }: WireEvent): string => event_id.replace("synth:", "").split(":")[0] ?? "";
const isEndOf =
  (runId: string) =>
  (event: WireEvent): boolean =>
    isEnd(event) && runOf(event) === runId;
const stop = (threadId: string, runId: string, action = "interrupt"): Promise<Response> =>
  server.send("POST", `/threads/${threadId}/runs/${runId}/cancel?wait=1&action=${action}`);

/** What is done to a thread while its first run waits at a gate. */
type Deed = { kind: "queue"; stops: boolean; graph: string } | { kind: "look" };
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({
    kind: fc.constant("queue" as const),
    stops: fc.boolean(),
    graph: fc.constantFrom("counter", "talker", "failing"),
  }),
  fc.record({ kind: fc.constant("look" as const) }),
);

const hello = { value: 1, messages: [{ role: "user", content: "Hi", id: "hi" }] };

/** All events of a thread while this is done to it, to the end of a last run; and the commands' answers. */
async function history(threadId: string, deeds: readonly Deed[], atOnce: boolean) {
  const gate = crypto.randomUUID();
  const reader = await openEvents(server, threadId);
  const first = await start(threadId, "gated", { gate });
  const begin = await reader.until(({ method }) => method === "custom");
  const runs = [first];
  const answers: WireAnswer[] = [];
  const act = async (one: Deed): Promise<void> => {
    if (one.kind === "look") {
      answers.push(await command(server, threadId, "state.get", {}));
      return;
    }
    const runId = await start(threadId, one.graph, hello);
    runs.push(runId);
    if (one.stops) await stop(threadId, runId);
  };
  if (atOnce) await Promise.all(deeds.map(act));
  else for (const one of deeds) await act(one);
  openGate(gate);
  const last = await start(threadId, "counter", { value: 7 });
  const events = [...begin, ...(await reader.until(isEndOf(last)))];
  await reader.leave();
  return { events, answers, runs: [...runs, last], last, seenBefore: begin };
}

describe("the events of a thread, with queued and stopped runs", () => {
  it("have rising seqs, end each run once, and are complete and unique after a reconnect at any seq", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 6 }), fc.boolean(), async (deeds, atOnce) => {
        const threadId = crypto.randomUUID();
        const { events, answers, runs, last, seenBefore } = await history(threadId, deeds, atOnce);
        expect(seqs(events)).toEqual([...new Set(seqs(events))].toSorted((a, b) => a - b));
        expect(events.filter(isEnd).map(runOf).toSorted()).toEqual(runs.toSorted());
        for (const { meta } of answers) {
          for (const { seq } of seenBefore) expect(seq).toBeLessThanOrEqual(meta.applied_through_seq);
          // The last run was started after all of them.
          expect(seqs(events.filter((event) => runOf(event) === last))[0]).toBeGreaterThan(meta.applied_through_seq);
        }
        const ends = events.flatMap((event, at) => (isEnd(event) ? [at, at - 1] : []));
        for (const at of new Set([0, ...ends])) {
          if (at >= events.length - 1) continue;
          const back = await openEvents(server, threadId, { since: events[at]?.seq });
          expect(await back.until(isEndOf(last))).toEqual(events.slice(at + 1));
          await back.leave();
        }
      }),
      { numRuns: 8 },
    );
  }, 60_000);

  it("contain the end of a run that was stopped in the queue, at that time, while another run works", async () => {
    const threadId = crypto.randomUUID();
    const gate = crypto.randomUUID();
    const early = await openEvents(server, threadId);
    const first = await start(threadId, "gated", { gate });
    const begin = await early.until(({ method }) => method === "custom");
    const queued = await start(threadId, "counter", { value: 1 });
    await stop(threadId, queued);
    // A subscriber that reconnects here has no event of the stopped run, and still receives those of the running one.
    const back = await openEvents(server, threadId, { since: begin.at(-1)?.seq });
    const late = await openEvents(server, threadId);
    openGate(gate);
    const rest = await early.until(isEndOf(first));
    expect(rest.filter(isEnd).map(runOf)).toEqual([queued, first]);
    expect(await back.until(isEndOf(first))).toEqual(rest);
    expect(await late.until(isEndOf(first))).toEqual([...begin, ...rest]);
    await Promise.all([early.leave(), back.leave(), late.leave()]);
  });

  it("begin with the newest run, and the runs it was queued behind, for a subscriber without a seq", async () => {
    const threadId = crypto.randomUUID();
    const gates = [crypto.randomUUID(), crypto.randomUUID()];
    const early = await openEvents(server, threadId);
    const before = await start(threadId, "counter", { value: 1 });
    await early.until(isEndOf(before));
    const [first, second] = [
      await start(threadId, "gated", { gate: gates[0] }),
      await start(threadId, "gated", { gate: gates[1] }),
    ];
    const { created_at } = await server.client.runs.get(threadId, second);
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(created_at) + 60);
    openGate(gates[0] ?? "");
    const events = await early.until(isEndOf(first));
    const late = await openEvents(server, threadId);
    openGate(gates[1] ?? "");
    expect(await late.until(isEndOf(second))).toEqual([...events, ...(await early.until(isEndOf(second)))]);
    await Promise.all([early.leave(), late.leave()]);
  });

  it("order a delayed run by the time when it was stopped", async () => {
    const threadId = crypto.randomUUID();
    const reader = await openEvents(server, threadId);
    await server.client.threads.create({ threadId });
    const delayed = await server.client.runs.create(threadId, "counter", { input: { value: 1 }, afterSeconds: 3600 });
    await stop(threadId, delayed.run_id);
    const [end] = (await reader.until(isEndOf(delayed.run_id))).slice(-1);
    const next = await start(threadId, "counter", { value: 1 });
    const events = await reader.until(isEndOf(next));
    expect(events[0]?.seq).toBeGreaterThan(end?.seq ?? Infinity);
    const back = await openEvents(server, threadId, { since: end?.seq });
    expect(await back.until(isEndOf(next))).toEqual(events);
    await Promise.all([reader.leave(), back.leave()]);
  });

  it("contain the end of a rolled back run for current subscribers, and nothing of it after a reconnect", async () => {
    const threadId = crypto.randomUUID();
    const gate = crypto.randomUUID();
    const reader = await openEvents(server, threadId);
    const first = await start(threadId, "gated", { gate });
    const begin = await reader.until(({ method }) => method === "custom");
    await stop(threadId, first, "rollback");
    const gone = await reader.until(isEndOf(first));
    const next = await start(threadId, "counter", { value: 1 });
    const events = await reader.until(isEndOf(next));
    expect(seqs([...begin, ...gone, ...events])).toEqual(
      seqs([...begin, ...gone, ...events]).toSorted((a, b) => a - b),
    );
    const back = await openEvents(server, threadId, { since: gone.at(-1)?.seq });
    expect(await back.until(isEndOf(next))).toEqual(events);
    await Promise.all([reader.leave(), back.leave()]);
  });
});
