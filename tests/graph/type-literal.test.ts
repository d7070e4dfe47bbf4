import { describe, expect, it } from "vitest";
import { readTypeLiteral } from "../../src/graph/type-literal.ts";

const declared = (text: string): unknown => readTypeLiteral(`export declare const schemas: ${text};\nexport {};\n`);

describe("the declaration of a probe", () => {
  it.each([
    [`{ type: "string" }`, { type: "string" }],
    [`{ const: "one" } | { const: "two" }`, { enum: ["one", "two"] }],
    [`{ const: true } | { const: false }`, { type: "boolean" }],
    [`{ type: "null" } | { const: true } | { const: false }`, { anyOf: [{ type: "null" }, { type: "boolean" }] }],
    [`{ const: -1.5 } | { type: "string" }`, { anyOf: [{ type: "string" }, { enum: [-1.5] }] }],
    [`({ type: "string" } | { type: "number" })`, { anyOf: [{ type: "string" }, { type: "number" }] }],
    [`{\n  type: "array";\n  items: {};\n}`, { type: "array", items: {} }],
    [`{ type: "object"; properties: {}; required: never }`, { type: "object", properties: {} }],
    [
      `{ type: "object"; properties: { a: {}; "b-c"?: { type: "string" } }; required: "a" | "b-c" }`,
      { type: "object", properties: { a: {}, "b-c": { type: "string" } }, required: ["a", "b-c"] },
    ],
    [
      `{ type: "object"; properties: { type: { type: "string" }; required: { type: "number" } }; required: "type" }`,
      {
        type: "object",
        properties: { type: { type: "string" }, required: { type: "number" } },
        required: ["type"],
      },
    ],
    [
      `{ type: "object"; properties: {\n /** Said of it: { */ a: { const: "\\"q\\" \\u4e2d" } }; required: "a" }`,
      { type: "object", properties: { a: { const: '"q" 中' } }, required: ["a"] },
    ],
  ])("%s is a schema", (text, expected) => {
    expect(declared(text)).toEqual(expected);
  });

  it("may name a field as every object is named, without touching it", () => {
    const read = declared(`{ type: "object"; properties: { __proto__: { type: "string" } }; required: never }`);
    expect(Object.keys((read as { properties: object }).properties)).toEqual(["__proto__"]);
    expect(({} as { type?: string }).type).toBeUndefined();
  });

  it.each([[`Schema<State>`], [`{ a: string }`], [`{ type: "object"`], [``], [`import("x").Y`]])(
    "is refused when it says something else: %s",
    (text) => {
      expect(() => declared(text)).toThrow(/could not be read/u);
    },
  );
});
