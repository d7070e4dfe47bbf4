import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Figure } from "../../bench/figures.ts";

/** How much a browser loads of a build in a folder, first and later, each with its bounds. */
export async function sizesOf(built: string): Promise<(Figure & { max: number })[]> {
  const html = await readFile(join(built, "index.html"), "utf8");
  const names = await readdir(join(built, "assets"));
  const size = async (wanted: readonly string[]): Promise<number> => {
    const files = await Promise.all(wanted.map((name) => readFile(join(built, "assets", name))));
    return files.reduce((sum, file) => sum + gzipSync(file).length, 0) / 1000;
  };
  const scripts = names.filter((name) => name.endsWith(".js"));
  const isFirst = (name: string): boolean => html.includes(name);
  const lazy = await Promise.all(scripts.filter((name) => !isFirst(name)).map((name) => size([name])));
  const styles = names.filter((name) => name.endsWith(".css"));
  return [
    {
      measure: "G3 scripts of the first view, gzip",
      value: await size(scripts.filter(isFirst)),
      unit: "kB",
      max: 230,
      note: "170, and 60 for kits of parts and forms",
    },
    { measure: "G3 largest page that is loaded later", value: Math.max(0, ...lazy), unit: "kB", max: 90 },
    { measure: "G3 style sheets", value: await size(styles), unit: "kB", max: 20 },
    { measure: "G3 all scripts", value: await size(scripts), unit: "kB", max: 700 },
  ];
}
