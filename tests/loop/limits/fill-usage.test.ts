import { AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { expect, test } from "vitest";
import { withUsage } from "../../../src/loop/model-call/fill-usage.ts";
import { usageOf } from "../../../src/loop/reply/reply-message.ts";

const prompt = [new HumanMessage("What is in the notes?")];

test("keeps the usage a vendor reports", () => {
  const usage_metadata = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
  const answer = withUsage(Object.assign(new AIMessageChunk("Ships."), { usage_metadata }), prompt);
  expect(usageOf(answer)).toEqual(usage_metadata);
  expect(answer.additional_kwargs).toEqual({});
});

test("estimates the usage if the vendor reports none", () => {
  const answer = withUsage(new AIMessageChunk("Ships. ".repeat(40)), prompt);
  const { input_tokens = 0, output_tokens = 0, total_tokens = 0 } = usageOf(answer) ?? {};
  expect([input_tokens > 5, output_tokens > 60, total_tokens]).toEqual([true, true, input_tokens + output_tokens]);
  expect(answer.additional_kwargs).toMatchObject({ usage_estimated: true });
});

test("a call whose arguments are nested too deep to be written out is estimated too", () => {
  let args: Record<string, unknown> = {};
  for (let level = 0; level < 20_000; level += 1) args = { args };
  const answer = new AIMessageChunk("");
  answer.tool_calls = [{ name: "look", args, id: "call_1" }];
  expect(usageOf(withUsage(answer, prompt))?.output_tokens).toBeGreaterThan(0);
});
