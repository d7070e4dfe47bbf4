import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockDatabase } from "@millrace/engine/storage/sqlite/database/lock-database";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-lock-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("a second server on the same database is refused until the first has closed", async () => {
  const path = join(folder, "millrace.db");
  const first = createSqliteStorage(path);
  expect(() => createSqliteStorage(path)).toThrow(expect.objectContaining({ code: "conflict" }));
  await first.close();
  await createSqliteStorage(path).close();
});

test("a killed process leaves no lock behind", async () => {
  const path = join(folder, "millrace.db");
  const module = new URL("../../../packages/engine/src/storage/sqlite/storage.ts", import.meta.url).href;
  const source = `const { createSqliteStorage } = await import(${JSON.stringify(module)});
    globalThis.storage = createSqliteStorage(${JSON.stringify(path)}); console.log("open"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  expect(() => createSqliteStorage(path)).toThrow(expect.objectContaining({ code: "conflict" }));
  child.kill("SIGKILL");
  await once(child, "exit");
  await createSqliteStorage(path).close();
});

test("a failed start leaves no lock file, a refused one leaves that of the other server", async () => {
  const path = join(folder, "millrace.db");
  await writeFile(path, "this is a text, and a long one, not a database".repeat(100));
  expect(() => createSqliteStorage(path)).toThrow(expect.objectContaining({ code: "storage_corrupt" }));
  expect(await readdir(folder)).toEqual(["millrace.db"]);
  const held = lockDatabase(path);
  expect(() => lockDatabase(path)).toThrow(expect.objectContaining({ code: "conflict" }));
  expect(await readdir(folder)).toContain("millrace.db.lock");
  held.release();
  held.release();
  expect(await readdir(folder)).toEqual(["millrace.db"]);
});

test("a lock whose file was deleted is not mistaken for that of a later file", () => {
  const path = join(folder, "millrace.db");
  for (let round = 0; round < 20; round += 1) {
    const first = lockDatabase(path);
    first.release();
    const second = lockDatabase(path);
    expect(() => lockDatabase(path)).toThrow(expect.objectContaining({ code: "conflict" }));
    // A second release of the first must not delete the file of the second.
    first.release();
    expect(() => lockDatabase(path)).toThrow(expect.objectContaining({ code: "conflict" }));
    second.release();
  }
});
