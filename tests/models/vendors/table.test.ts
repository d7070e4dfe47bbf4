import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { z } from "zod";
import {
  compatibleQuirks,
  deepseekQuirks,
  ollamaQuirks,
  openaiQuirks,
  qwenQuirks,
  siliconflowQuirks,
  zhipuQuirks,
  type Quirks,
} from "@millrace/models/vendors/quirks";
import { providersTable } from "./providers-table.ts";

const vendors: Record<string, Quirks> = {
  openai: openaiQuirks,
  zhipu: zhipuQuirks,
  siliconflow: siliconflowQuirks,
  deepseek: deepseekQuirks,
  qwen: qwenQuirks,
  ollama: ollamaQuirks,
  own: compatibleQuirks,
};

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");

function written(value: unknown): string {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return `${value}`;
  return z.array(z.string()).or(z.string()).parse(value).toString();
}

it("says of every quirk and vendor what the data says", () => {
  const rows = new Map(providersTable().map((row) => [row["quirk"]?.replaceAll("`", ""), row]));
  const quirks = new Set(Object.values(vendors).flatMap((quirk) => Object.keys(quirk)));
  for (const quirk of quirks) {
    const cells = Object.keys(vendors).map((vendor) => rows.get(quirk)?.[vendor]);
    expect([quirk, ...cells]).toEqual([
      quirk,
      ...Object.values(vendors).map((data) => written(new Map<string, unknown>(Object.entries(data)).get(quirk))),
    ]);
  }
});

it("names a test for every row, which is about every vendor that differs", () => {
  const rows = providersTable();
  expect(rows.length).toBeGreaterThan(10);
  for (const { quirk, test, own, ...cells } of rows) {
    const [, file = "", title = ""] = /^`([^`]+)` “([^”]+)”$/u.exec(test ?? "") ?? [];
    const text = read(file === "" ? "none" : file);
    expect(text, `${quirk}: ${title}`).toContain(title);
    for (const vendor of Object.keys(vendors)) {
      const differs = vendor !== "own" && cells[vendor] !== own;
      if (differs) expect(text, `${quirk} of ${vendor}`).toContain(`"${vendor}:`);
    }
  }
});
