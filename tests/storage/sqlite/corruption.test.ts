import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAppError } from "@millrace/engine/errors/errors";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { projectFolder } from "../../support/source-files.ts";
import { damages } from "./damages.ts";
import { contentOf } from "./checkpoints/history.ts";

/** How many damaged copies are opened; the long form opens the 200 of D3 in reliability.md. */
const mutants = Number(process.env["MUTANTS"] ?? 60);
const seed = Number(process.env["SEED"] ?? Date.now() % 100_000);

let folder = "";
/** Two databases with the same content: one closed properly, one whose process was killed. */
const originals = { closed: "", killed: "", other: "" };

/** Fills a database in another process, which closes it or kills itself. */
function fill(name: string, end: "close" | "kill", turns: number): string {
  const place = join(folder, name);
  mkdirSync(place);
  const child = join(projectFolder, "tests/storage/sqlite/checkpoints/history-child.ts");
  const { stderr } = spawnSync(process.execPath, [child, join(place, "m.db"), end, String(turns)], {
    encoding: "utf8",
  });
  expect(stderr).toBe("");
  return place;
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-corruption-"));
  originals.closed = fill("closed", "close", 12);
  originals.killed = fill("killed", "kill", 12);
  originals.other = fill("other", "close", 3);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function randoms(start: number): (limit: number) => number {
  let state = start + 1;
  return (limit) => {
    state = (state * 48_271 + 11) % 2_147_483_647;
    return state % limit;
  };
}

/** Opens a copy and reads everything: returns its content, or the typed error. */
async function look(place: string): Promise<{ content?: unknown; code?: string }> {
  try {
    const storage = createSqliteStorage(join(place, "m.db"));
    try {
      return { content: await contentOf(storage) };
    } finally {
      await storage.close();
    }
  } catch (error) {
    if (!isAppError(error)) throw error;
    return { code: error.code };
  }
}

function copyOf(original: string, name: string): string {
  const place = join(folder, name);
  mkdirSync(place);
  for (const file of readdirSync(original)) {
    if (!file.endsWith(".lock") && !file.endsWith("-shm")) copyFileSync(join(original, file), join(place, file));
  }
  return place;
}

describe("a damaged database", () => {
  it("has all its content when it is not damaged", async () => {
    const closed = await look(copyOf(originals.closed, "sound-closed"));
    const killed = await look(copyOf(originals.killed, "sound-killed"));
    expect(closed.content).toMatchObject([{ messages: { length: 24 } }, { messages: { length: 24 } }]);
    expect(killed).toEqual(closed);
  });

  it(
    `never shows a shorter history: a typed error or all of it, ${mutants} times (seed ${seed})`,
    { timeout: 300_000 },
    async () => {
      const { content } = await look(copyOf(originals.closed, "judge"));
      const random = randoms(seed);
      const kinds = Object.keys(damages);
      const silent: string[] = [];
      const outcomes = { refused: 0, whole: 0 };
      for (let index = 0; index < mutants; index += 1) {
        const kind = kinds[index % kinds.length] ?? "";
        const original = Math.floor(index / kinds.length) % 2 === 0 ? "killed" : "closed";
        const place = copyOf(originals[original], `mutant-${index}`);
        const how = damages[kind]?.(join(place, "m.db"), { random, other: join(originals.other, "m.db") }) ?? "";
        const found = await look(place);
        if (found.code !== undefined) {
          expect(found.code, `${original}, ${kind}, ${how}`).toBe("storage_corrupt");
          outcomes.refused += 1;
        } else if (JSON.stringify(found.content) === JSON.stringify(content)) outcomes.whole += 1;
        else silent.push(`${original}, ${kind}, ${how}`);
        rmSync(place, { recursive: true });
      }
      process.stdout.write(
        `${mutants} mutants: ${outcomes.refused} refused, ${outcomes.whole} whole, ${silent.length} silent\n`,
      );
      expect(silent).toEqual([]);
    },
  );
});
