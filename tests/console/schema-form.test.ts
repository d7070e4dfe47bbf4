import { describe, expect, it } from "vitest";
import { z } from "zod";
import { markedSchema } from "../../console/form/marked-schema.ts";
import { withNamedOptions } from "../../console/form/option-names.ts";
import { problemsOf } from "../../console/form/validator.ts";
import { workEn } from "../../console/text/inspector/en.ts";

describe("a JSON Schema as a form", () => {
  it.each([null, undefined, true, [], "text", {}, { type: "object" }, { title: "Anything" }, { type: "array" }])(
    "is JSON alone for %j",
    (schema) => {
      expect(markedSchema(schema)).toBeUndefined();
    },
  );

  it("writes messages as messages, and what has no field as JSON", () => {
    const marked = markedSchema({
      type: "object",
      $id: "json",
      properties: {
        messages: { langgraph_type: "messages", type: "array" },
        files: { type: "object", additionalProperties: true },
        any: true,
        name: { type: "string", default: "Ada", $schema: "http://json-schema.org/draft-07/schema#" },
        nested: { $ref: "#" },
      },
      required: ["name"],
    });
    expect(marked).toEqual({
      type: "object",
      properties: {
        messages: { $id: "messages" },
        files: { $id: "json" },
        any: { $id: "json" },
        name: { type: "string", default: "Ada" },
        nested: { $ref: "#" },
      },
      required: ["name"],
    });
  });

  it("shows what turns text around, and has no field that could change the form itself", () => {
    const marked = markedSchema(JSON.parse('{"properties":{"__proto__":{"type":"string"},"a":{"title":"\u202Ex"}}}'));
    expect(Object.keys(marked?.properties ?? {})).toEqual(["a"]);
    expect(JSON.stringify(marked)).toContain("U+202E");
  });

  it("keeps the references of a field that was described alone", () => {
    const child = { $ref: "#/definitions/node" };
    const definitions = { node: { type: "object", properties: { label: { type: "string" }, child } } };
    const alone = { $schema: "http://json-schema.org/draft-07/schema#", definitions, allOf: [child] };
    const own = { $schema: "x", type: "object", properties: { again: { $ref: "#" } } };
    const lost = { $ref: "https://example.com/schema" };
    const marked = markedSchema({ type: "object", properties: { tree: alone, own, lost } });
    expect(marked).toEqual({
      type: "object",
      properties: {
        tree: { $ref: "#/definitions/part-1-node" },
        own: { type: "object", properties: { again: { $ref: "#/definitions/part-2" } } },
        lost: { $id: "json" },
      },
      definitions: {
        "part-1-node": {
          type: "object",
          properties: { label: { type: "string" }, child: { $ref: "#/definitions/part-1-node" } },
        },
        "part-2": { type: "object", properties: { again: { $ref: "#/definitions/part-2" } } },
      },
    });
  });

  it("calls the alternatives of a value by what they take", () => {
    const schema: Parameters<typeof withNamedOptions>[0] = {
      type: "object",
      properties: {
        any: {
          anyOf: [
            { type: "string" },
            { type: "null" },
            { type: "array", items: { anyOf: [{ type: "number" }, { $ref: "#/definitions/pair" }] } },
            { $ref: "#/definitions/named" },
            { title: "Own", type: "string" },
            { type: "object", properties: { kind: { const: "circle" }, radius: { type: "number" } } },
            { type: "object", properties: { a: {}, b: {}, c: {}, d: {} } },
            { enum: ["low", "high"] },
            { $id: "json" },
            { $id: "json" },
          ],
        },
      },
      definitions: {
        pair: { type: "object", properties: { left: {}, right: {} } },
        named: { title: "Named", type: "object" },
      },
    };
    const marked = withNamedOptions(schema, workEn.form.kinds);
    const titles = (options: unknown): unknown[] =>
      z
        .array(z.looseObject({}))
        .parse(options)
        .map(({ title }) => title);
    const { anyOf } = z.looseObject({ anyOf: z.array(z.unknown()) }).parse(marked.properties?.["any"]);
    expect(titles(anyOf)).toEqual([
      "Text",
      "Null",
      "List",
      undefined,
      "Own",
      "circle",
      "a, b, c…",
      "low, high",
      "JSON 9",
      "JSON 10",
    ]);
    const list = z.looseObject({ items: z.looseObject({ anyOf: z.unknown() }) }).parse(anyOf[2]);
    expect(titles(list.items.anyOf)).toEqual(["Number", "left, right"]);
  });

  it("of any depth ends", () => {
    let schema: Record<string, unknown> = { type: "string" };
    for (let depth = 0; depth < 1_000; depth += 1) schema = { type: "object", properties: { down: schema } };
    expect(JSON.stringify(markedSchema(schema)).length).toBeLessThan(5_000);
  });

  it("says where a value does not fit, also a schema that refers to itself", () => {
    const tree = {
      type: "object" as const,
      properties: { label: { type: "string" as const }, child: { $ref: "#" } },
      required: ["label"],
    };
    expect(problemsOf(tree, { label: "a", child: { label: "b" } })).toEqual([]);
    expect(problemsOf(tree, { label: "a", child: { label: 3 } })).toMatchObject([{ property: ".child.label" }]);
    expect(problemsOf(tree, {})).toMatchObject([{ property: ".label" }]);
    expect(problemsOf({ type: "string", pattern: "(" }, "x")).toEqual([]);
  });
});
