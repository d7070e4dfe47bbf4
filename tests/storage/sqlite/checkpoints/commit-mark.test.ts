import { mkdtempSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { CommitMark, GroupCommit, markFile } from "@millrace/engine/storage/sqlite/database/durable";
import { openDatabase, type Database } from "@millrace/engine/storage/sqlite/database/database";

let folder: string;
let database: Database;
let isFull: boolean;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "commit-mark-"));
  database = openDatabase(join(folder, "test.db"));
  database.raw.exec("CREATE TABLE words (word TEXT)");
  isFull = false;
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A mark on a disk that can be full, as on file systems where each write allocates new blocks. */
function put(file: number, text: string, at: number): void {
  if (isFull) throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC", syscall: "write" });
  writeSync(file, text, at);
}

const words = (): unknown[] => database.raw.prepare("SELECT word FROM words").pluck().all();
const markOnDisk = (): unknown => JSON.parse(readFileSync(markFile(database.path), "utf8"));

test("a commit that is on disk succeeds when only the mark cannot be written; the next commit fails", async () => {
  const mark = new CommitMark(database, put);
  const commits = new GroupCommit(database, mark);
  const add = (word: string) => commits.durably(() => database.prepare("INSERT INTO words VALUES (?)").run(word));
  isFull = true;
  await add("first");
  expect(words()).toEqual(["first"]);
  expect(markOnDisk()).toMatchObject({ commits: 0 });
  await expect(add("second")).rejects.toMatchObject({ code: "storage_full" });
  expect(words()).toEqual(["first"]);
  isFull = false;
  await add("third");
  expect(words()).toEqual(["first", "third"]);
  expect(markOnDisk()).toMatchObject({ commits: 2 });
  expect(database.raw.pragma("user_version", { simple: true })).toBe(2);
  mark.close();
});

test("a server on a full disk fails with an error that names the file", () => {
  isFull = true;
  expect(() => new CommitMark(database, put)).toThrow(
    expect.objectContaining({ code: "storage_full", message: expect.stringContaining(markFile(database.path)) }),
  );
});
