import { describe, expect, it } from "vitest";
import { readArgumentSchema, type ArgumentSchema } from "../../src/tools/runtime/argument-schema.ts";

function readable(given: unknown): ArgumentSchema {
  const read = readArgumentSchema(given);
  if (typeof read === "string") throw new Error(read);
  return read;
}

const number = { type: "number" };

describe("the arguments of an MCP tool", () => {
  it.each([
    ["nothing", { type: "object" }, {}, undefined],
    ["simple types", { type: "object", properties: { a: number }, required: ["a"] }, { a: 1 }, { a: "x" }],
    ["what must be there", { type: "object", properties: { a: number }, required: ["a"] }, { a: 1 }, {}],
    ["nothing else", { type: "object", properties: { a: number }, additionalProperties: false }, { a: 1 }, { b: 1 }],
    [
      "shared parts",
      { type: "object", properties: { a: { $ref: "#/$defs/n" } }, $defs: { n: number } },
      { a: 1 },
      { a: "x" },
    ],
    ["choices", { type: "object", properties: { a: { enum: ["x", "y"] } } }, { a: "x" }, { a: "z" }],
    [
      "a choice of what must be there",
      { type: "object", properties: { a: number, b: number }, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
      { a: 1 },
      { a: "x" },
    ],
    [
      "conditions, which are the server's",
      { type: "object", properties: { a: number, b: number }, required: ["b"], if: {}, else: {} },
      { b: 1 },
      { a: 1 },
    ],
    [
      "a part that is not understood, but must be there",
      { type: "object", properties: { a: { not: { type: "string" } } }, required: ["a"] },
      { a: 1 },
      {},
    ],
  ])("with %s are checked", (_, given, good, bad) => {
    const { schema, parameters } = readable(given);
    expect(schema.safeParse(good).success).toBe(true);
    if (bad !== undefined) expect(schema.safeParse(bad).success).toBe(false);
    expect(parameters).toMatchObject(given);
  });

  /** Each of these would keep a checker busy for ever, or end it, over one small value. */
  const twice = (word: string): Record<string, unknown> => {
    const step = (index: number) => ({ $ref: `#/$defs/d${index}` });
    const steps = Array.from({ length: 60 }, (_, index) => [
      `d${index}`,
      { [word]: [step(index + 1), step(index + 1)] },
    ]);
    return { properties: { a: step(0) }, $defs: { ...Object.fromEntries(steps), d60: { type: "string" } } };
  };
  it.each([
    ["a pattern that never ends", { properties: { a: { pattern: "^(a+)+$" } } }, `${"a".repeat(60)}!`],
    [
      "a pattern of names that never ends",
      { properties: { a: {} }, patternProperties: { "^(a+)+$": {} }, additionalProperties: false },
      1,
    ],
    ["choices that double at every step", twice("anyOf"), 1],
    ["conditions that double at every step", twice("allOf"), "x"],
    ["a part that is itself", { properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { $ref: "#/$defs/a" } } }, 1],
    [
      "a part that is a choice of itself",
      {
        properties: { a: { $ref: "#/$defs/a" } },
        $defs: { a: { anyOf: [{ $ref: "#/$defs/a" }, { $ref: "#/$defs/a" }] } },
      },
      1,
    ],
  ])("with %s are checked at once, and what must be there is", (_, given, value) => {
    const { schema, parameters } = readable({ type: "object", ...given, required: ["a"] });
    expect(schema.safeParse({ a: value, [`${"a".repeat(60)}!`]: 1 }).success).toBe(true);
    expect(schema.safeParse({}).success).toBe(false);
    expect(parameters).toMatchObject(given);
  });

  it("keep a property that is called as a word of the language, and a type of a shared part beside its words", () => {
    const { schema } = readable({
      type: "object",
      properties: { pattern: number, $ref: { type: "string" }, b: { $ref: "#/definitions/n", description: "words" } },
      definitions: { n: number },
    });
    expect(schema.safeParse({ pattern: 1, $ref: "x", b: 2 }).success).toBe(true);
    for (const bad of [{ pattern: "x" }, { $ref: 1 }, { b: "x" }]) expect(schema.safeParse(bad).success).toBe(false);
  });

  it("are shown to the model without the name of the dialect", () => {
    const { parameters } = readable({ $schema: "http://json-schema.org/draft-07/schema#", type: "object" });
    expect(parameters).toEqual({ type: "object", properties: {}, required: [] });
  });

  it.each([
    ["is missing", undefined],
    ["is of no object", { type: "string" }],
    ["is a text", "object"],
    ["has properties that are none", { type: "object", properties: "a" }],
    [
      "is nested too deeply",
      Array.from({ length: 50_000 }).reduce((inner) => ({ type: "object", properties: { a: inner } }), number),
    ],
    ["is very large", { type: "object", properties: { a: { description: "x".repeat(30_000) } } }],
  ])("whose schema %s are refused with the reason", (_, given) => {
    expect(readArgumentSchema(given)).toMatch(/^its inputSchema /u);
  });
});
