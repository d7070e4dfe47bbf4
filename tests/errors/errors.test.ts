import { describe, expect, it } from "vitest";
import { errorMessage } from "@millrace/engine/errors/errors";

const circle: { self?: unknown } = {};
circle.self = circle;

describe("the text of what was thrown", () => {
  it.each<[string, unknown, string | RegExp]>([
    ["an error", new Error("It broke."), "It broke."],
    ["an error without words", new TypeError(), "TypeError"],
    ["a text", "no", "no"],
    ["an empty text", "", /./u],
    ["nothing", undefined, "undefined"],
    ["an object with a message", { message: "Out of paper.", code: 7 }, "Out of paper."],
    ["another object", { code: 7 }, '{"code":7}'],
    ["an object that cannot be a text", Object.assign(Object.create(null), { code: 7 }), '{"code":7}'],
    ["an object that cannot be written", circle, /./u],
    [
      "an object that throws",
      {
        get message(): string {
          throw new Error("no");
        },
      },
      /./u,
    ],
  ])("of %s", (_, thrown, expected) => {
    expect(errorMessage(thrown)).toMatch(expected);
  });
});
