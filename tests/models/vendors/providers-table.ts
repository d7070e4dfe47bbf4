import { readFileSync } from "node:fs";

/** The rows of the table in docs/assistant/providers.md, each by its columns. */
export function providersTable(): Record<string, string>[] {
  const lines = readFileSync(new URL("../../../docs/assistant/providers.md", import.meta.url), "utf8").split("\n");
  const start = lines.findIndex((line) => line.startsWith("| quirk |"));
  const cells = (line: string): string[] =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim());
  const columns = cells(lines[start] ?? "");
  const end = lines.indexOf("", start);
  return lines
    .slice(start + 2, end)
    .map((line) => Object.fromEntries(cells(line).map((cell, place) => [columns[place] ?? "", cell])));
}

/** The vendors of the table. */
export const vendorNames = ["openai", "zhipu", "siliconflow", "deepseek", "qwen", "ollama", "own"] as const;
export type VendorName = (typeof vendorNames)[number];
