import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  isAIMessage,
  isBaseMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { RunEvent } from "@millrace/engine/run-events";
import { notYetEmitted } from "@millrace/engine/runs/events/to-events";
import { openIn } from "../recovery/crash-copy.ts";
import { collect, createRuns, createSession, nestedGraph, never, request, serve } from "../fixtures.ts";
import { withCopies } from "../recovery/storage-copies.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-emitted-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** What a reader has of each message when it adds up the pieces. */
function textsOf(events: readonly RunEvent[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const event of events) {
    if (event.event !== "messages" || !isBaseMessage(event.data)) continue;
    const { id = "", text } = event.data;
    texts.set(id, (texts.get(id) ?? "") + text);
  }
  return texts;
}

it("emits no words twice, wherever a crash comes between two writes", async () => {
  const file = openIn(folder);
  const copies: string[] = [];
  let runId: string;
  try {
    const storage = withCopies(file, folder, (path) => copies.push(path));
    const runs = createRuns(storage, serve({ agent: nestedGraph() }, file.checkpointer));
    const session = await createSession(file);
    const run = await runs.start(session, request("agent", { stream_mode: ["messages-tuple", "values"] }));
    runId = run.run_id;
    await collect(runs.follow(runId, -1, never));
    await runs.drain(0);
  } finally {
    await file.close();
  }
  let compared = 0;
  for (const copy of copies) {
    const storage = openIn(copy);
    try {
      const runs = createRuns(storage, serve({ agent: nestedGraph() }, storage.checkpointer));
      await runs.recover();
      const events = await collect(runs.follow(runId, -1, never));
      await runs.drain(0);
      const final = events.findLast((event) => event.event === "values")?.data["messages"];
      const messages = (Array.isArray(final) ? final : []).filter((message) => isAIMessage(message));
      const texts = textsOf(events);
      for (const { id = "", text } of messages) expect(texts.get(id)).toBe(text);
      compared += messages.length;
    } finally {
      await storage.close();
    }
  }
  expect(compared).toBeGreaterThan(0);
});

it.each([
  ["what was emitted to its end", new AIMessage({ id: "a", content: "one two" }), "one two", undefined],
  ["what was emitted in part: the rest", new AIMessage({ id: "a", content: "one two" }), "one ", "two"],
  ["what was emitted with other words", new AIMessage({ id: "a", content: "two" }), "one", undefined],
  ["a result that was emitted", new ToolMessage({ id: "a", content: "ok", tool_call_id: "c" }), "ok", undefined],
])("of a whole message nothing is emitted again: %s", (_name, message, before, rest) => {
  const emitted = new Map([["a", before]]);
  const left = notYetEmitted(message, emitted);
  expect(left?.text).toBe(rest);
  // A second time there is nothing left.
  if (rest !== undefined) expect(notYetEmitted(message, emitted)).toBeUndefined();
});

it("a piece of a model's answer and a message that was not emitted go through", () => {
  const emitted = new Map([["a", "one"]]);
  const piece = new AIMessageChunk({ id: "a", content: "one" });
  expect(notYetEmitted(piece, emitted)).toBe(piece);
  const other = new HumanMessage({ id: "b", content: "one" });
  expect(notYetEmitted(other, emitted)).toBe(other);
  const nameless = new HumanMessage({ content: "one" });
  expect(notYetEmitted(nameless, emitted)).toBe(nameless);
});
