import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import BetterSqlite3 from "better-sqlite3";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  backupDatabase,
  checkWhole,
  pruneDatabase,
  restoreDatabase,
} from "@millrace/engine/storage/sqlite/database/maintenance";
import { createSqliteStorage, type SqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { openStorageBench } from "../../faults/storage/storage-bench.ts";
import { never } from "../../runs/fixtures.ts";
import { projectFolder } from "../../support/source-files.ts";
import { contentOf, writeHistory } from "./checkpoints/history.ts";
import { programEnvironment } from "../../support/processes/program.ts";

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-maintenance-"));
  path = join(folder, "millrace.db");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Opens the database, works on it and closes it. */
async function within<T>(work: (storage: SqliteStorage) => Promise<T>): Promise<T> {
  const storage = createSqliteStorage(path);
  try {
    return await work(storage);
  } finally {
    await storage.close();
  }
}

function maintain(...parameters: string[]) {
  const command = join(projectFolder, "bin/millrace.cjs");
  const env = { ...programEnvironment, MILLRACE_DATA_DIR: folder };
  const { status, stdout, stderr } = spawnSync(process.execPath, [command, ...parameters], {
    cwd: folder,
    encoding: "utf8",
    env,
  });
  return { status, stdout, stderr };
}

describe("a backup", () => {
  it("contains everything in one file, and can be restored", async () => {
    const before = await within(async (storage) => {
      await writeHistory(storage, 3);
      return await contentOf(storage);
    });
    const file = join(folder, "saved.db");
    expect(await backupDatabase(path, file)).toMatchObject({ sessions: 2, runs: 6, problems: [] });
    expect(readdirSync(folder).filter((name) => name.startsWith("saved"))).toEqual(["saved.db"]);
    const bytes = readFileSync(file);
    await within(async (storage) => {
      for (const { session_id } of (await storage.sessions.search({ limit: 9, offset: 0 })).sessions) {
        await storage.sessions.delete(session_id);
      }
    });
    const { report, kept } = await restoreDatabase(file, path);
    expect(report).toMatchObject({ sessions: 2, runs: 6 });
    expect(await within(contentOf)).toEqual(before);
    expect(readFileSync(file)).toEqual(bytes);
    expect(checkWhole(kept ?? "")).toMatchObject({ sessions: 0 });
  });

  it("made while runs write is consistent, and its runs can continue", async () => {
    const bench = openStorageBench(path);
    const rounds = 3;
    const files = Array.from({ length: rounds }, (_, round) => join(folder, `round-${round}.db`));
    try {
      const starts = Array.from({ length: 20 }, () => bench.start());
      for (const file of files) {
        const child = spawn(process.execPath, [join(projectFolder, "bin/millrace.cjs"), "backup", file], {
          env: { ...programEnvironment, MILLRACE_DATA_DIR: folder },
          stdio: ["ignore", "ignore", "inherit"],
        });
        const ended = once(child, "exit");
        while (child.exitCode === null) await bench.runs.wait((await bench.start()).run_id, never);
        expect(await ended).toEqual([0, null]);
      }
      for (const { run_id } of await Promise.all(starts)) await bench.runs.wait(run_id, never);
    } finally {
      await bench.close();
    }
    for (const file of files) {
      expect(checkWhole(file).problems).toEqual([]);
      const copy = openStorageBench(file);
      try {
        const unfinished = await copy.storage.runs.unfinished();
        await copy.runs.recover();
        const ends = await Promise.all(unfinished.map(({ run_id }) => copy.runs.wait(run_id, never)));
        expect(ends.map(({ status }) => status)).toEqual(unfinished.map(() => "success"));
      } finally {
        await copy.close();
      }
    }
  });

  it("never overwrites a file, and refuses a file that is not our database", async () => {
    await within((storage) => writeHistory(storage, 1));
    const file = join(folder, "taken");
    writeFileSync(file, "mine");
    await expect(backupDatabase(path, file)).rejects.toMatchObject({ code: "conflict" });
    expect(readFileSync(file, "utf8")).toBe("mine");
    await expect(backupDatabase(file, join(folder, "new"))).rejects.toMatchObject({ code: "storage_corrupt" });
    await expect(backupDatabase(join(folder, "missing"), join(folder, "new"))).rejects.toMatchObject({
      code: "not_found",
    });
    expect(existsSync(join(folder, "new"))).toBe(false);
  });
});

describe("a restore changes nothing", () => {
  let file = "";
  let before: unknown;
  beforeEach(async () => {
    file = join(folder, "saved.db");
    before = await within(async (storage) => {
      await writeHistory(storage, 2);
      return await contentOf(storage);
    });
    await backupDatabase(path, file);
  });

  it("while a server uses the database", async () => {
    const storage = createSqliteStorage(path);
    await expect(restoreDatabase(file, path)).rejects.toMatchObject({ code: "conflict" });
    expect(await contentOf(storage)).toEqual(before);
    await storage.close();
  });

  it("from a damaged backup", async () => {
    const copy = new BetterSqlite3(file);
    copy.exec("UPDATE checkpoint_items SET data = replace(data, 'aaa', 'aab')");
    copy.close();
    await expect(restoreDatabase(file, path)).rejects.toMatchObject({ code: "storage_corrupt" });
    expect(await within(contentOf)).toEqual(before);
  });

  it("from a backup of a later version", async () => {
    const copy = new BetterSqlite3(file);
    copy.exec("INSERT INTO migrations VALUES (999, 'later', '2030-01-01')");
    copy.close();
    await expect(restoreDatabase(file, path)).rejects.toMatchObject({ code: "storage_newer" });
    expect(await within(contentOf)).toEqual(before);
  });
});

describe("pruning", () => {
  it("keeps conversations with their latest state, and makes the file smaller", async () => {
    const before = await within(async (storage) => {
      await writeHistory(storage, 60);
      return await contentOf(storage);
    });
    const result = await pruneDatabase(path, { before: new Date(Date.now() + 1000), strategy: "keep_latest" });
    expect(result.pruned).toBe(2);
    expect(result.bytesAfter).toBeLessThan(result.bytesBefore);
    expect(await within(contentOf)).toEqual(before);
  });

  it("deletes sessions that were unused for the given time, and no others", async () => {
    const ids = await within(async (storage) => {
      await writeHistory(storage, 40);
      const { sessions } = await storage.sessions.search({ limit: 9, offset: 0 });
      return sessions.map(({ session_id }) => session_id).toSorted();
    });
    const old = new BetterSqlite3(path);
    old.prepare("UPDATE sessions SET updated_at = '2020-01-01T00:00:00.000Z' WHERE session_id = ?").run(ids[0]);
    old.close();
    rmSync(`${path}.mark`);
    const result = await pruneDatabase(path, { before: new Date("2021-01-01"), strategy: "delete" });
    expect(result.pruned).toBe(1);
    expect(statSync(path).size).toBe(result.bytesAfter);
    expect(result.bytesAfter).toBeLessThan(result.bytesBefore);
    expect(await within(contentOf)).toMatchObject([{ session_id: ids[1] }]);
  });
});

describe("the command line", () => {
  it("backs up, verifies, restores and prunes, and reports what it did", async () => {
    await within((storage) => writeHistory(storage, 2));
    const file = join(folder, "saved.db");
    expect(maintain("backup", file)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("2 session(s), 4 run(s)"),
    });
    expect(maintain("verify")).toMatchObject({ status: 0, stdout: expect.stringContaining("is sound") });
    expect(maintain("restore", file)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("Restored 2 session(s)"),
    });
    expect(maintain("prune", "--older-than", "0h")).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("Pruned 2"),
    });
    expect(maintain("prune", "--older-than", "1h", "--delete")).toMatchObject({
      stdout: expect.stringContaining("Pruned 0"),
    });
  });

  it("backs up into a folder that does not exist, and restores into a data folder that does not exist", async () => {
    await within((storage) => writeHistory(storage, 2));
    const before = await within(contentOf);
    // As described in docs/operate/operations.md.
    expect(maintain("backup", "backups/monday.db")).toMatchObject({ status: 0, stderr: "" });
    path = join(folder, "new machine", "data", "millrace.db");
    await restoreDatabase(join(folder, "backups/monday.db"), path);
    expect(await within(contentOf)).toEqual(before);
  });

  it("names the folder it has looked in, and how to choose another", () => {
    expect(maintain("backup", "backups/monday.db")).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/There is no file .*millrace\.db\. .*MILLRACE_DATA_DIR/u),
    });
    expect(existsSync(join(folder, "backups"))).toBe(false);
  });

  it.each([
    [["backup"], 64, "missing required argument 'file'"],
    [["prune"], 64, "'--older-than <time>' not specified"],
    [["prune", "--older-than", "30"], 64, "such as 30d"],
    [["shine"], 64, 'no command "shine"'],
    [["prune", "--older-than", "1h", "--everything"], 64, "--everything"],
    [["restore", "nowhere.db"], 1, "There is no file"],
  ])("%j is refused with exit code %i and a reason", (parameters, status, reason) => {
    expect(maintain(...parameters)).toMatchObject({ status, stdout: "", stderr: expect.stringContaining(reason) });
  });

  it("reports damage", async () => {
    await within((storage) => writeHistory(storage, 2));
    const raw = new BetterSqlite3(path);
    raw.exec("UPDATE checkpoint_rows SET crc = crc + 1 WHERE data IS NOT NULL");
    raw.close();
    expect(maintain("verify")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("checkpoint_rows are not what"),
    });
  });
});
