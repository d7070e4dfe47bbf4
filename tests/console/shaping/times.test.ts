import { describe, expect, it } from "vitest";
import { inOneUnit, inUnits, type InUnit } from "../../../console/text/units.ts";
import { shellEn } from "../../../console/text/shell/en.ts";
import { shellZh } from "../../../console/text/shell/zh.ts";

describe("how long something took", () => {
  it.each([
    [0.25, "0.3 ms", "0.3 毫秒", "0 s", "0 秒"],
    [255, "255 ms", "255 毫秒", "0.3 s", "0.3 秒"],
    [1_254, "1.25 s", "1.25 秒", "1.3 s", "1.3 秒"],
    [11_720, "11.7 s", "11.7 秒", "12 s", "12 秒"],
    [59_970, "1 min 0 s", "1 分钟 0 秒", "1 min", "1 分钟"],
    [119_900, "2 min 0 s", "2 分钟 0 秒", "2 min", "2 分钟"],
    [3_900_000, "1 h 5 min", "1 小时 5 分钟", "65 min", "65 分钟"],
  ])("of %d ms is %s and %s, in short %s and %s", (took, ...expected) => {
    const textsOf = (parts: readonly InUnit[]): string[] =>
      [shellEn, shellZh].map(({ time }) =>
        parts.map(({ unit, value }) => time[unit].replace("{{value}}", String(value))).join(" "),
      );
    expect([...textsOf(inUnits(took)), ...textsOf([inOneUnit(took)])]).toEqual(expected);
  });
});
