import { describe, expect, it } from "vitest";
import { readArgumentSchema, type ArgumentSchema } from "../../../src/tools/mcp/argument-schema.ts";

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

  it("are shown to the model without the name of the dialect", () => {
    const { parameters } = readable({ $schema: "http://json-schema.org/draft-07/schema#", type: "object" });
    expect(parameters).toEqual({ type: "object", properties: {}, required: [] });
  });

  it.each([
    ["is missing", undefined],
    ["is of no object", { type: "string" }],
    ["is a text", "object"],
    ["has properties that are none", { type: "object", properties: "a" }],
    ["is very large", { type: "object", properties: { a: { description: "x".repeat(30_000) } } }],
  ])("whose schema %s are refused with the reason", (_, given) => {
    expect(readArgumentSchema(given)).toMatch(/^its inputSchema /u);
  });
});
