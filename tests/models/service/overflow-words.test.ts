import { describe, expect, it } from "vitest";
import { toModelError } from "@millrace/models/model-error";

const codeOf = (text: string, status = 400): string => toModelError(Object.assign(new Error(text), { status })).code;

describe("a conversation that is too long, in the words of vendors (COMP-15)", () => {
  it.each([
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
    "prompt is too long: 210000 tokens > 200000 maximum",
    "the request exceeds the available context size (4096 tokens)",
    "Range of input length should be [1, 30720]",
    "Prompt exceeds max length",
    "length of prompt_tokens (40000) must be less than max_seq_len (32768).",
    "Your request exceeded the limit of 32k tokens",
    "Token超限：最大长度为 32768",
    "输入超出模型上下文长度限制 131072",
    "Prompt 超长",
    "input is too long for the requested model",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (5000 in the messages, 4000 in the completion). Please reduce max_tokens.",
  ])("is recognised by %j", (text) => {
    expect(codeOf(text)).toBe("context_overflow");
  });

  it.each([
    ["strange field", 400, "api_error"],
    ["max_tokens must be at most 8192", 400, "api_error"],
    ["top_p is out of range", 400, "api_error"],
    ["输入参数有误", 400, "api_error"],
    ["Rate limit reached: limit 10000 tokens per minute", 429, "rate_limit"],
    ["The request body is too large", 413, "api_error"],
    ["prompt is too long", 401, "auth"],
    ["This request would exceed the limit of 30,000 input tokens per minute", 429, "rate_limit"],
    ["This request would exceed your organization's rate limit of 30,000 input tokens", 400, "api_error"],
    ["max_tokens exceeds the model limit of 8192 tokens", 400, "api_error"],
    ["max_completion_tokens exceeds the limit of 16384 tokens", 400, "api_error"],
    ["max_output_tokens (9000) exceeds the maximum of 8192 tokens", 400, "api_error"],
    ["Number of images in the prompt exceeds the limit of 10", 400, "api_error"],
    ["对话次数超过限制", 400, "api_error"],
    ["输入速率超过限制", 400, "api_error"],
    ["Prompt exceeds the limit of your credit balance", 402, "quota"],
  ])("is not meant by %j with %i", (text, status, code) => {
    expect(codeOf(text, status)).toBe(code);
  });

  it("is recognised by the name of the error, whatever it was answered with", () => {
    const error = Object.assign(new Error("Too many."), { name: "ContextOverflowError", status: 429 });
    expect(toModelError(error).code).toBe("context_overflow");
  });
});
