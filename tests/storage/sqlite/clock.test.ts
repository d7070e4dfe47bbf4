import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { MillraceSaver } from "@millrace/engine/storage/sqlite/checkpoints/checkpointer";
import { openSaver, type OpenSaver } from "./checkpoints/open-saver.ts";

const hour = 3_600_000;
const config = { configurable: { thread_id: "t" } };
let folder: string;
let opened: OpenSaver;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
  folder = mkdtempSync(join(tmpdir(), "clock-"));
  opened = openSaver(join(folder, "test.db"));
});
afterEach(() => {
  vi.useRealTimers();
  opened.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A saver on the same file with nothing in memory. */
const cold = (): MillraceSaver => new MillraceSaver(opened.database);

async function say(words: string): Promise<void> {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("chat", ({ messages }) => ({ messages: [new AIMessage(`to ${messages.at(-1)?.text}`)] }))
    .addEdge(START, "chat")
    .addEdge("chat", END)
    .compile({ checkpointer: opened.saver });
  await graph.invoke({ messages: [{ role: "user", content: words }] }, config);
}

function wordsIn(tuple: CheckpointTuple | undefined): string[] {
  // The channel of the graph above.
  const messages = (tuple?.checkpoint.channel_values["messages"] ?? []) as BaseMessage[];
  return messages.map(({ text }) => text);
}

async function listed(saver: MillraceSaver, before?: CheckpointTuple): Promise<CheckpointTuple[]> {
  return await Array.fromAsync(saver.list(config, before === undefined ? {} : { before: before.config }));
}

const idOf = (place: CheckpointTuple["config"] | undefined): unknown => place?.configurable?.["checkpoint_id"];

describe("a session that continues after the machine's clock was set back (reliability T3)", () => {
  const all = ["one", "to one", "two", "to two", "three", "to three"];
  beforeEach(async () => {
    await say("one");
    vi.setSystemTime(Date.now() - hour);
    await say("two");
    await say("three");
  });

  it("has all messages, also after a restart", async () => {
    expect(wordsIn(await opened.saver.getTuple(config))).toEqual(all);
    expect(wordsIn(await cold().getTuple(config))).toEqual(all);
  });

  it("lists its states newest first, each before its parent, and in pages", async () => {
    const states = await listed(cold());
    expect(wordsIn(states[0])).toEqual(all);
    expect(states.slice(1).map((state) => idOf(state.config))).toEqual(
      states.slice(0, -1).map(({ parentConfig }) => idOf(parentConfig)),
    );
    for (const [place, state] of states.entries()) {
      expect((await listed(cold(), state)).map((older) => idOf(older.config))).toEqual(
        states.slice(place + 1).map((older) => idOf(older.config)),
      );
    }
  });

  it("keeps the newest state when the others are deleted", async () => {
    await opened.saver.prune("t", { keepLatest: 1 });
    expect(wordsIn(await cold().getTuple(config))).toEqual(all);
    expect(await listed(cold())).toHaveLength(1);
  });
});

it("leaves threads alone whose clock was never set back", async () => {
  await say("one");
  vi.setSystemTime(Date.now() + hour);
  await say("two");
  expect(opened.database.raw.prepare("SELECT clock_went_back FROM checkpoint_threads").pluck().all()).toEqual([0]);
});
