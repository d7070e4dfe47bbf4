import { AIMessageChunk } from "@langchain/core/messages";
import { expect, test } from "vitest";
import type { RunEvent } from "@millrace/engine/run-events";
import { createFrames, type Frame } from "@millrace/engine/http/responses/frames";

/** The text of a frame. */
function textOf(frame: Frame): string {
  return typeof frame === "string" ? frame : Buffer.from(frame).toString();
}

const metadata: RunEvent = { id: 0, event: "metadata", data: { run_id: "r", attempt: 1 } };

test("a frame has the event, one line of data, the id if requested, and an empty line", () => {
  expect(createFrames({ ids: true })(metadata)).toBe('event: metadata\ndata: {"run_id":"r","attempt":1}\nid: 0\n\n');
  expect(createFrames({ ids: false })(metadata)).toBe('event: metadata\ndata: {"run_id":"r","attempt":1}\n\n');
});

test("line breaks in data are escaped, so that data stays on one line", () => {
  const frame = createFrames({ ids: true })({ id: 1, event: "custom", namespace: [], data: "a\n\nb\r" });
  expect(textOf(frame).split("\n")).toHaveLength(5);
});

test("a long frame has the same format as a short one, and its bytes are made once for all readers", () => {
  const data = "é漢😀".repeat(5_000);
  const event: RunEvent = { id: 7, event: "custom", namespace: [], data };
  const frames = [1, 2].map(() => createFrames({ ids: true })(event));
  expect(frames.map(textOf)).toEqual(Array(2).fill(`event: custom\ndata: ${JSON.stringify(data)}\nid: 7\n\n`));
  expect(frames[0]).toBeInstanceOf(Uint8Array);
  expect(frames[0]).toBe(frames[1]);
  const other = createFrames({ ids: true, idPrefix: "run." })(event);
  expect(textOf(other)).toBe(`event: custom\ndata: ${JSON.stringify(data)}\nid: run.7\n\n`);
});

test("events of a subgraph have its path in their name", () => {
  const event: RunEvent = { id: 1, event: "updates", namespace: ["a:1", "b:2"], data: {} };
  expect(createFrames({ ids: false })(event)).toContain("event: updates|a:1|b:2\n");
});

test("a message tuple has its metadata beside it", () => {
  const event: RunEvent = {
    id: 1,
    event: "messages",
    namespace: [],
    data: new AIMessageChunk("x"),
    metadata: { a: 1 },
  };
  expect(createFrames({ ids: false })(event)).toMatch(/^event: messages\ndata: \[\{"type":"ai".*\},\{"a":1\}\]\n\n$/);
});

const partials = ["He", "ll", "o"].map((content, index): RunEvent => ({
  id: index + 1,
  event: "messages/partial",
  namespace: [],
  data: new AIMessageChunk({ id: "m", content }),
}));

test("every partial message contains the chunks before it", () => {
  const frame = createFrames({ ids: false });
  const contents = partials.map((event) => /"content":"(\w*)"/.exec(textOf(frame(event)))?.[1]);
  expect(contents).toEqual(["He", "Hell", "Hello"]);
});

test("a reader that reconnects gets the complete partial message, and none twice", () => {
  const frame = createFrames({ ids: true, after: 2 });
  const frames = [metadata, ...partials].map(frame);
  expect(frames.slice(0, 3)).toEqual(["", "", ""]);
  expect(frames[3]).toContain('"content":"Hello"');
});

test("two readers of partial messages are independent", () => {
  const one = createFrames({ ids: false });
  const other = createFrames({ ids: false });
  for (const event of partials) expect(one(event)).toBe(other(event));
});

test("a reader of one mode gets this mode, the metadata and errors", () => {
  const frame = createFrames({ ids: false, modes: ["messages-tuple"] });
  const error: RunEvent = { id: 9, event: "error", data: { error: "E", message: "m" } };
  const tuple: RunEvent = { id: 3, event: "messages", namespace: [], data: new AIMessageChunk("x"), metadata: {} };
  expect([metadata, tuple, error].map((event) => frame(event) === "")).toEqual([false, false, false]);
  const values: RunEvent = { id: 4, event: "values", namespace: [], data: {} };
  expect([...partials, values].map(frame)).toEqual(["", "", "", ""]);
});
