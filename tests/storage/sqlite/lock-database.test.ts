import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createSqliteStorage } from "../../../src/storage/sqlite/storage.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-lock-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("a second server on the same database is refused, and may have it after the first has closed", async () => {
  const path = join(folder, "millrace.db");
  const first = createSqliteStorage(path);
  expect(() => createSqliteStorage(path)).toThrow(expect.objectContaining({ code: "conflict" }));
  await first.close();
  await createSqliteStorage(path).close();
});

test("a killed process leaves no lock behind", async () => {
  const path = join(folder, "millrace.db");
  const module = new URL("../../../src/storage/sqlite/storage.ts", import.meta.url).href;
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
