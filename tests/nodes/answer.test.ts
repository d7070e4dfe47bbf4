import { describe, expect, it } from "vitest";
import { z } from "zod";
import { readJson } from "../../src/nodes/intent/answer.ts";

const Shape = z.object({ route: z.string() });

describe("reading a model's JSON", () => {
  it.each([
    ['{"route":"plan"}'],
    ['```json\n{"route":"plan"}\n```'],
    ['Sure: {"route": "plan",} as asked.'],
    ["{'route': 'plan'}"],
    ['{"route": "plan"'],
  ])("finds it in %j", (text) => {
    expect(readJson(text, Shape)).toEqual({ kind: "value", value: { route: "plan" } });
  });

  it.each([
    ["I would plan it.", "no JSON object"],
    ['{"way":"plan"}', "route"],
  ])("says what is wrong with %j", (text, problem) => {
    expect(readJson(text, Shape)).toMatchObject({ kind: "unreadable", problem: expect.stringContaining(problem) });
  });
});
