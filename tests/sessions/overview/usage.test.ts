import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { readUsage } from "@millrace/engine/sessions/messages/usage";

const now = Date.parse("2026-11-22T12:00:00.000Z");
function reply(
  id: string,
  minutesAgo: number,
  counts: { prompt: number; cached: number },
  more: object = {},
): AIMessage {
  const timestamp = new Date(now - minutesAgo * 60_000).toISOString();
  const llm_metadata = { model_name: "openai:scripted", ...more };
  const usage_metadata = {
    input_tokens: counts.prompt,
    output_tokens: 10,
    total_tokens: counts.prompt + 10,
    input_token_details: { cache_read: counts.cached },
  };
  const message = new AIMessage({ id, content: "So.", additional_kwargs: { timestamp, llm_metadata } });
  return Object.assign(message, { usage_metadata });
}
const history: BaseMessage[] = [
  new HumanMessage("Hi"),
  reply("one", 30, { prompt: 100, cached: 0 }, { run_id: "run-1", input_cost: 0.25, output_cost: 0.5 }),
  reply("two", 20, { prompt: 300, cached: 200 }, { run_id: "run-2" }),
  reply("three", 1, { prompt: 100, cached: 100 }, { run_id: "run-2", input_cost: 1, output_cost: 0 }),
  new AIMessage("Without a count."),
];
const query = { since: null, last: 2, seconds: undefined, now };

describe("the usage of a session", () => {
  it("adds up what its replies used, and what the cache saved", () => {
    expect(readUsage(history, query).session).toEqual({
      requests: 3,
      total_tokens: 530,
      prompt_tokens: 500,
      completion_tokens: 30,
      cached_tokens: 300,
      cost: 1.75,
      cache_hit_ratio: 0.6,
      average_tokens: 530 / 3,
    });
  });

  it("returns it by run, and lists the last requests, the newest first", () => {
    const { runs, recent } = readUsage(history, query);
    expect(runs).toMatchObject([
      { run_id: "run-1", requests: 1, cost: 0.75, cache_hit_ratio: 0 },
      { run_id: "run-2", requests: 2, cost: 1, cache_hit_ratio: 0.75 },
    ]);
    expect(recent.map(({ message_id, cost }) => [message_id, cost])).toEqual([
      ["three", 1],
      ["two", null],
    ]);
  });

  it("sums up a window of time, and only what came after a reset", () => {
    expect(readUsage(history, { ...query, seconds: 120 }).window).toMatchObject({ requests: 1, cached_tokens: 100 });
    const since = new Date(now - 25 * 60_000).toISOString();
    expect(readUsage(history, { ...query, since })).toMatchObject({ since, session: { requests: 2 }, window: null });
  });

  it("is nothing where there is nothing", () => {
    expect(readUsage([], query)).toMatchObject({
      session: { requests: 0, cost: null, cache_hit_ratio: 0, average_tokens: 0 },
      runs: [],
      recent: [],
    });
  });
});
