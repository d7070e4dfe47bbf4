import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { HumanMessage } from "@langchain/core/messages";
import { yieldingCheck } from "@millrace/engine/concurrency/abort";
import { countMessagesExactly } from "../../src/context/tokens/token-counter.ts";
import { tools } from "../../src/tools/index.ts";
import { aWorkspace } from "../support/a-workspace.ts";
import { codeTools } from "../../toolkits/code/tools/index.ts";

/** Time that passes by the work done, so that the test does not depend on the machine. */
let now = 0;
beforeEach(() => {
  now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 1));
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Counts turns of the event loop that others get while `work` is under way. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const beat = (): void => {
    turns += 1;
    if (!isOver) setImmediate(beat);
  };
  setImmediate(beat);
  await work();
  isOver = true;
  return turns;
}

describe("long work", () => {
  it("lets others have their turn every 15 milliseconds (QUEUE-08)", async () => {
    const turns = await turnsDuring(async () => {
      const breathe = yieldingCheck(new AbortController().signal);
      for (let step = 0; step < 300; step += 1) await breathe();
    });
    expect(turns).toBeGreaterThanOrEqual(300 / 16 - 1);
  });

  it("ends at a turn after a stop", async () => {
    const stop = new AbortController();
    const breathe = yieldingCheck(stop.signal);
    stop.abort(new Error("stopped"));
    const work = async (): Promise<void> => {
      for (;;) await breathe();
    };
    await expect(work()).rejects.toThrow("stopped");
  });

  it("of a search in one large file lets others have their turn, too", async () => {
    await using workspace = await aWorkspace();
    const lines = 2000;
    await workspace.fill({ "large.txt": "nothing to see here\n".repeat(lines) });
    let found: unknown;
    // Named itself, it is read here; in a folder another program would pass it over.
    const turns = await turnsDuring(async () => {
      found = await workspace.call(tools.search_content, { path: "large.txt", regex: "needle" });
    });
    expect(found).toMatchObject({ success: true });
    expect(turns).toBeGreaterThanOrEqual(lines / 16 - 1);
  });

  it("of listing what one large file defines lets others have their turn, too", async () => {
    await using workspace = await aWorkspace();
    const lines = 2000;
    await workspace.fill({ "large.ts": "const one = 1;\n".repeat(lines) });
    const turns = await turnsDuring(() => workspace.call(codeTools.list_code_definition_names, { path: "large.ts" }));
    expect(turns).toBeGreaterThanOrEqual(lines / 16 - 1);
  });

  it("of counting many messages lets others have their turn, too", async () => {
    const messages = Array.from({ length: 2000 }, () => new HumanMessage("a few words"));
    const counter = { count: async () => ({ tokens: 3, method: "exact" as const }) };
    const turns = await turnsDuring(() => countMessagesExactly(messages, counter, new AbortController().signal));
    expect(turns).toBeGreaterThanOrEqual(messages.length / 16 - 1);
  });
});
