import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import type { UsageEntry } from "@millrace/engine/storage/usage";
import { sampleEvents } from "./runs/events.ts";
import { runRecord, sessionRecord, type StorageFixture, writer } from "./records.ts";

const month = { from: "2026-03-01", to: "2026-03-31" };
const page = { limit: 10, offset: 0 };

function entry(owner: string, day: string, input_tokens: number, fields: Partial<UsageEntry> = {}): UsageEntry {
  const used = { requests: 1, input_tokens, output_tokens: 10, cached_tokens: 4, cost: 0.25 };
  const times = { failed: 0, duration_ms: 300, first_token_ms: 0, first_tokens: 0 };
  return { owner, day, model: "openai:a", ...used, ...times, ...fields };
}

/** Usage of owners, which is stored with the writes of their runs. */
export function describeUsage(fixture: StorageFixture): void {
  async function newRun(): Promise<void> {
    const { sessions, runs } = fixture.storage;
    await sessions.create(sessionRecord("s1"));
    await runs.admit(runRecord("r1", "s1"));
    await runs.claim("s1");
  }

  describe("usage of owners", () => {
    it("is summed by owner and day, and survives a restart and its session", async () => {
      await newRun();
      const run = writer(fixture.storage, "r1", 1);
      await run.append(
        [],
        [entry("ada", "2026-03-01", 100), entry("ada", "2026-03-01", 50), entry("", "2026-03-01", 7)],
      );
      await run.append(sampleEvents(), [entry("ada", "2026-03-31", 1), entry("bob", "2026-02-28", 900)]);
      await fixture.storage.sessions.delete("s1");
      const { usage } = await fixture.reopen();
      const rest = { requests: 1, output_tokens: 10, cached_tokens: 4, cost: 0.25 };
      expect(await usage.days("ada", month)).toEqual([
        { day: "2026-03-01", requests: 2, input_tokens: 150, output_tokens: 20, cached_tokens: 8, cost: 0.5 },
        { day: "2026-03-31", input_tokens: 1, ...rest },
      ]);
      expect(await usage.days("bob", month)).toEqual([]);
      expect(await usage.owners(month, page)).toEqual({
        owners: [
          { owner: "ada", requests: 3, input_tokens: 151, output_tokens: 30, cached_tokens: 12, cost: 0.75 },
          { owner: "", input_tokens: 7, ...rest },
        ],
        total: 2,
      });
      expect(await usage.owners(month, { limit: 1, offset: 1 })).toMatchObject({ owners: [{ owner: "" }], total: 2 });
    });

    it("is also summed by day and model, with failed calls, which no other sum contains", async () => {
      await newRun();
      const run = writer(fixture.storage, "r1", 1);
      const failure = { requests: 0, failed: 1, output_tokens: 0, cached_tokens: 0, cost: 0, duration_ms: 0 };
      await run.append(
        [],
        [
          entry("ada", "2026-03-02", 5, { first_token_ms: 40, first_tokens: 1 }),
          entry("ada", "2026-03-02", 7),
          entry("bob", "2026-03-02", 1, { model: "openai:b" }),
          entry("ada", "2026-03-01", 0, { ...failure, model: "openai:b" }),
          entry("ada", "2026-02-28", 9),
        ],
      );
      const { usage } = await fixture.reopen();
      const times = { failed: 0, duration_ms: 600, first_token_ms: 40, first_tokens: 1 };
      const used = { requests: 2, input_tokens: 12, output_tokens: 20, cached_tokens: 8, cost: 0.5 };
      const failed = {
        day: "2026-03-01",
        model: "openai:b",
        input_tokens: 0,
        ...failure,
        first_token_ms: 0,
        first_tokens: 0,
      };
      const ada = [failed, { day: "2026-03-02", model: "openai:a", ...used, ...times }];
      expect(await usage.models(month, "ada")).toEqual(ada);
      expect(await usage.models(month)).toEqual([
        ...ada,
        expect.objectContaining({ day: "2026-03-02", model: "openai:b", requests: 1, input_tokens: 1 }),
      ]);
      expect(await usage.days("ada", month)).toMatchObject([{ day: "2026-03-02", requests: 2 }]);
    });

    it("is stored with the next checkpoint, or not at all", async () => {
      await newRun();
      const saver = writer(fixture.storage, "r1", 1).checkpointer({
        flushWith: async (write) => await write([], [entry("ada", "2026-03-02", 3)]),
      });
      const place = { configurable: { thread_id: "s1", checkpoint_ns: "", run_id: "r1" } };
      await saver.put(place, emptyCheckpoint(), { source: "loop", step: 0, parents: {} }, {});
      expect(await fixture.storage.usage.days("ada", month)).toMatchObject([{ day: "2026-03-02", input_tokens: 3 }]);
      const former = writer(fixture.storage, "r1", 0);
      await expect(former.append([], [entry("ada", "2026-03-02", 3)])).rejects.toMatchObject({ code: "conflict" });
      expect(await fixture.storage.usage.days("ada", month)).toMatchObject([{ input_tokens: 3 }]);
    });
  });
}
