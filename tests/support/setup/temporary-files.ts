import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programEnvironment } from "../processes/program.ts";

/** Bytes that have to be free in memory for the files of the tests, which take a tenth of it. */
const enough = 4 * 1024 ** 3;

/**
 * Where tests put their files: in memory where Linux has room for them, since every commit of a database waits for the disk. A
 * `TMPDIR` that is set is kept.
 */
export function temporaryPlace(): string {
  const memory = "/dev/shm";
  if (process.env["TMPDIR"] !== undefined) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(memory);
    const options = /^\S+ \/dev\/shm tmpfs (\S+)/mu.exec(readFileSync("/proc/mounts", "utf8"))?.[1]?.split(",");
    // Some tests run programs that they have written there.
    if (options?.includes("rw") === true && !options.includes("noexec") && bavail * bsize > enough) return memory;
  } catch {
    // Another system.
  }
  return tmpdir();
}

/**
 * Gives the tests a temporary folder of their own, and fails the run when one of them leaves something of ours in it. The programs
 * they start keep what Node compiled.
 */
export function setup(): (() => void) | undefined {
  process.env["NODE_COMPILE_CACHE"] ??= programEnvironment.NODE_COMPILE_CACHE;
  // Each project of `vitest.config.ts` calls this; they share the folder of the first one, which is removed last.
  if (process.env["MILLRACE_TEST_FOLDER"] !== undefined) return undefined;
  const before = process.env["TMPDIR"];
  const folder = mkdtempSync(join(temporaryPlace(), "millrace-tests-"));
  process.env["TMPDIR"] = folder;
  process.env["MILLRACE_TEST_FOLDER"] = folder;
  return () => {
    const left = readdirSync(folder).filter((name) => name.startsWith("millrace-"));
    rmSync(folder, { recursive: true, force: true });
    delete process.env["MILLRACE_TEST_FOLDER"];
    if (before === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = before;
    if (left.length > 0) throw new Error(`Tests left files in the temporary folder: ${left.join(", ")}`);
  };
}
