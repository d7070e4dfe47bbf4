import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunEvent } from "@millrace/engine/run-events";
import { append, finish, runRecord, sessionRecord, type StorageFixture, writer } from "../records.ts";

/** A log of a run: tokens of two parallel model calls, whole messages, state with the same messages, plain data. */
export function sampleEvents(): RunEvent[] {
  const metadata = { langgraph_node: "call_model", langgraph_checkpoint_ns: "loop:1", tags: ["a"] };
  const messages = [new HumanMessage({ id: "h1", content: "hi" }), new AIMessage({ id: "a1", content: "hello" })];
  const namespace = ["loop:1"];
  const token = (id: string, content: string, more = {}) => ({
    event: "messages" as const,
    namespace: [...namespace],
    data: new AIMessageChunk({ id, content, ...more }),
    metadata: id === "a1" ? metadata : { ...metadata },
  });
  const usage_metadata = { input_tokens: 3, output_tokens: 4, total_tokens: 7 };
  const tool_call_chunks = [
    { index: 0, id: "c1", name: "read_file", args: '{"path":', type: "tool_call_chunk" as const },
  ];
  const logged = [
    { event: "metadata" as const, data: { run_id: "r1", attempt: 1 } },
    { event: "values" as const, namespace: [], data: { messages: messages.slice(0, 1), count: 1 } },
    token("a1", "hel"),
    token("a2", "other"),
    token("a1", "lo"),
    token("a1", "", { usage_metadata, response_metadata: { finish_reason: "stop" } }),
    token("a2", "", { tool_call_chunks }),
    { event: "messages/partial" as const, namespace, data: new AIMessageChunk({ id: "a1", content: "hel" }) },
    { event: "messages/metadata" as const, namespace, data: { a1: { metadata } } },
    { event: "messages/complete" as const, namespace, data: [messages[1]] },
    {
      event: "messages" as const,
      namespace,
      data: new ToolMessage({ id: "t1", tool_call_id: "c1", content: "x" }),
      metadata,
    },
    { event: "updates" as const, namespace: [], data: { reply: { messages: messages.slice(1) } } },
    { event: "custom" as const, namespace, data: { type: "tool_status", nested: [1, null, "two"] } },
    { event: "custom" as const, namespace: [], data: "a bare value" },
    { event: "debug" as const, namespace: [], data: { step: 1 } },
    { event: "tasks" as const, namespace: [], data: { id: "1", input: { messages } } },
    { event: "checkpoints" as const, namespace: [], data: { values: { messages }, next: [] } },
    { event: "tools" as const, namespace, data: { event: "on_tool_start", toolCallId: "c1", name: "x", input: "{}" } },
    { event: "checkpoint" as const, namespace: [], data: { id: "c", step: 1, source: "loop" } },
    { event: "values" as const, namespace: [], data: { messages, count: 2 } },
    { event: "error" as const, data: { error: "E", message: "m" } },
  ];
  const begun = Date.UTC(2026, 0, 1);
  return logged.map((event, index) => ({ id: index, at: begun + index * 7, ...event }) satisfies RunEvent);
}

/** Event logs of runs: however the events are grouped, the same sequence is read. */
export function describeEvents(fixture: StorageFixture): void {
  async function newRun(runId: string): Promise<void> {
    if ((await fixture.storage.sessions.get("s1")) === undefined) {
      await fixture.storage.sessions.create(sessionRecord("s1"));
    }
    await fixture.storage.runs.admit(runRecord(runId, "s1"));
  }

  describe("events", () => {
    it("are followed by every reader as they are stored, until the run ends", async () => {
      await newRun("r1");
      const { events, runs } = fixture.storage;
      await runs.claim("s1");
      const store = (id: number) =>
        append(fixture.storage, "s1", "r1", [{ id, event: "custom", namespace: [], data: id }]);
      await store(0);
      const seen: number[] = [];
      const all = AbortSignal.timeout(60_000);
      const following = (async (): Promise<void> => {
        for await (const batch of events.follow("r1", -1, all)) seen.push(...batch.map(({ id }) => id));
      })();
      await expect.poll(() => seen).toEqual([0]);
      const leaving = new AbortController();
      const left = events.follow("r1", 0, leaving.signal).next();
      await store(1);
      await expect.poll(() => seen).toEqual([0, 1]);
      expect((await left).value).toMatchObject([{ id: 1 }]);
      const waiting = events.follow("r1", 1, leaving.signal).next();
      leaving.abort();
      expect(await waiting).toEqual({ done: true, value: undefined });
      await store(2);
      await finish(fixture.storage, "r1", { status: "success", session_status: "idle", interrupts: {} });
      await following;
      expect(seen).toEqual([0, 1, 2]);
      await expect(events.follow("unknown", -1, all).next()).rejects.toMatchObject({ code: "not_found" });
    });

    it("are read in the same sequence, whatever the groups and the gaps in their ids", async () => {
      let count = 0;
      const cuts = fc.array(fc.nat({ max: 18 }), { maxLength: 6 });
      const gaps = fc.array(fc.nat({ max: 3 }), { minLength: 19, maxLength: 19 });
      await fc.assert(
        fc.asyncProperty(cuts, gaps, fc.integer({ min: 1, max: 25 }), async (places, steps, pageSize) => {
          const runId = `run ${(count += 1)}`;
          await newRun(runId);
          let last = -1;
          const events = sampleEvents().map((event, index) => ({ ...event, id: (last += 1 + (steps[index] ?? 0)) }));
          const borders = [0, ...places.toSorted((a, b) => a - b), events.length];
          for (const [index, start] of borders.slice(0, -1).entries()) {
            await append(fixture.storage, "s1", runId, events.slice(start, borders[index + 1]));
          }
          const found: RunEvent[] = [];
          for (let after = -1; ;) {
            const page = await fixture.storage.events.read(runId, after, pageSize);
            if (page.length === 0) break;
            expect(page.length).toBeLessThanOrEqual(pageSize);
            found.push(...page);
            after = page.at(-1)?.id ?? after;
          }
          expect(found).toEqual(events);
        }),
        { numRuns: 25 },
      );
    });

    it("keep the class and the parts of streamed chunks", async () => {
      await newRun("r1");
      const events = sampleEvents();
      await append(fixture.storage, "s1", "r1", events);
      const chunks = (await fixture.storage.events.read("r1", -1, 100)).flatMap((event) =>
        event.event === "messages" && event.data instanceof AIMessageChunk ? [event.data] : [],
      );
      expect(chunks.map((chunk) => [chunk.id, chunk.content])).toEqual([
        ["a1", "hel"],
        ["a2", "other"],
        ["a1", "lo"],
        ["a1", ""],
        ["a2", ""],
      ]);
      expect(chunks[3]).toMatchObject({ usage_metadata: { total_tokens: 7 } });
      expect(chunks[4]?.tool_call_chunks).toMatchObject([{ id: "c1", name: "read_file", args: '{"path":' }]);
    });

    it("are read from any event id, also inside a group", async () => {
      await newRun("r1");
      await append(fixture.storage, "s1", "r1", sampleEvents());
      const read = async (after: number, limit: number) =>
        (await fixture.storage.events.read("r1", after, limit)).map((event) => event.id);
      expect(await read(4, 3)).toEqual([5, 6, 7]);
      expect(await read(-1, 1)).toEqual([0]);
      expect(await read(19, 9)).toEqual([20]);
      expect(await read(20, 9)).toEqual([]);
      expect(await read(-1, 0)).toEqual([]);
      expect(await fixture.storage.events.read("unknown", -1, 9)).toEqual([]);
    });

    it("never reuse an id, and a reserved id only rises", async () => {
      await newRun("r1");
      const { events, runs } = fixture.storage;
      const [first, second] = sampleEvents();
      if (first === undefined || second === undefined) throw new Error("two sample events expected");
      await append(fixture.storage, "s1", "r1", [first, second]);
      await expect(append(fixture.storage, "s1", "r1", [second])).rejects.toMatchObject({ code: "invalid_state" });
      await expect(
        append(fixture.storage, "s1", "r1", [
          { ...first, id: 9 },
          { ...second, id: 9 },
        ]),
      ).rejects.toMatchObject({
        code: "invalid_state",
      });
      expect(await events.read("r1", -1, 9)).toHaveLength(2);
      await writer(fixture.storage, "r1").reserve(1000);
      await writer(fixture.storage, "r1").reserve(500);
      expect((await runs.get("r1"))?.event_mark).toBe(1000);
    });

    it("are refused for a run that does not exist or belongs to another session", async () => {
      await newRun("r1");
      await append(fixture.storage, "s1", "unknown", []);
      await expect(append(fixture.storage, "s1", "unknown", sampleEvents())).rejects.toMatchObject({
        code: "not_found",
      });
      await expect(append(fixture.storage, "s2", "r1", sampleEvents())).rejects.toMatchObject({ code: "not_found" });
    });
  });
}
