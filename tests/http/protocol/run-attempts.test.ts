import { AIMessageChunk } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { createRunProtocol } from "@millrace/engine/http/protocol/events/run-protocol";
import type { RunEvent } from "@millrace/engine/run-events";
import { runRecord } from "../../contract/records.ts";

it("a new attempt after a crash has an event, and an unfinished message begins again under its id", () => {
  const { kwargs } = runRecord("r", "s");
  const command = { resume: { ["a".repeat(32)]: "yes" } };
  const run = runRecord("r", "s", { attempt: 2, kwargs: { ...kwargs, command } });
  const protocol = createRunProtocol(run, new Set());
  const begin = (attempt: number): RunEvent => ({ id: 0, event: "metadata", data: { run_id: "r", attempt } });
  const says = (content: string): RunEvent => ({
    id: 0,
    event: "messages",
    namespace: [],
    data: new AIMessageChunk({ id: "m", content }),
    metadata: { langgraph_checkpoint_ns: "talk:1" },
  });
  const attempts = [begin(1), says("Half a"), begin(2), says("A whole"), says(" answer")];
  const events = [
    ...attempts.flatMap((event) => protocol.events(event)),
    ...protocol.end({ ...run, status: "success" }, "2026-01-01T00:00:01.000Z"),
  ];
  const dataOf = (method: string) => events.filter((event) => event.method === method).map(({ data }) => data);
  expect(dataOf("messages")).toMatchObject([
    { event: "message-start", id: "m" },
    { event: "content-block-start" },
    { event: "content-block-delta", delta: { text: "Half a" } },
    { event: "message-start", id: "m" },
    { event: "content-block-start" },
    { event: "content-block-delta", delta: { text: "A whole" } },
    { event: "content-block-delta", delta: { text: " answer" } },
    { event: "content-block-finish", content: { text: "A whole answer" } },
    { event: "message-finish" },
  ]);
  expect(
    events.filter(({ namespace }) => namespace.length === 0).filter(({ method }) => method === "lifecycle"),
  ).toMatchObject([{ data: { event: "running" } }, { data: { event: "running" } }, { data: { event: "completed" } }]);
  // The question was answered once, whatever happened to the run afterwards.
  expect(dataOf("input.answered")).toHaveLength(1);
});
