import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** What the system calls of a server say about the runs it accepted. */
export interface SyncVerdict {
  /** Runs that an answer has named. */
  answered: Set<string>;
  /** Those of them whose commit was not on disk by then. */
  early: string[];
}

const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** A frame's header in a write-ahead log of SQLite: 24 bytes, the second four of which are zero unless it ends a commit. */
const frameHeader = /^pwrite64\(\d+<[^>]*-wal>, "(.*)", 24, \d+\)/;
const walWrite = /^pwrite64\(\d+<[^>]*-wal>/;
const walSync = /^f(?:data)?sync\(\d+<[^>]*-wal>\) = 0/;
const accepted =
  /^(?:write|writev)\(\d+<socket:.*HTTP\/1\.1 200 .*?content-location: \/threads\/[0-9a-f-]+\/runs\/([0-9a-f-]+)/;

/** Follows system calls in their order: which run ids are in frames that a finished commit and a sync have made safe. */
export class SyncOrder {
  readonly verdict: SyncVerdict = { answered: new Set(), early: [] };
  /** Ids in frames that no sync has followed yet. */
  #written = new Set<string>();
  #safe = new Set<string>();
  #endsCommit = false;

  /** Takes one line of strace (`-y -s 9000`). */
  take(line: string): void {
    const header = frameHeader.exec(line)?.[1];
    if (header !== undefined)
      this.#endsCommit = bytesOf(header)
        .subarray(4, 8)
        .some((byte) => byte !== 0);
    else if (walWrite.test(line)) for (const [id] of line.matchAll(uuid)) this.#written.add(id);
    else if (walSync.test(line)) {
      if (!this.#endsCommit) return;
      this.#safe = this.#safe.union(this.#written);
      this.#written = new Set();
    } else {
      const id = accepted.exec(line)?.[1];
      if (id === undefined) return;
      this.verdict.answered.add(id);
      if (!this.#safe.has(id)) this.verdict.early.push(id);
    }
  }
}

const escapes: Record<string, number> = { n: 10, r: 13, t: 9, v: 11, f: 12, '"': 34, "\\": 92 };

/** The bytes of a text as strace prints it. */
function bytesOf(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const [piece, octal, letter] of text.matchAll(/\\([0-7]{1,3})|\\(.)|[^\\]/gs)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else bytes.push(letter === undefined ? piece.charCodeAt(0) : (escapes[letter] ?? 0));
  }
  return Uint8Array.from(bytes);
}

/** Watches a process until `stop`. */
export interface SyncTrace {
  stop(): Promise<SyncVerdict>;
}

/** Attaches strace to the main thread of a process, or says why that cannot be done here. */
export async function traceSyncs(pid: number): Promise<SyncTrace | { missing: string }> {
  if (spawnSync("strace", ["-V"]).status !== 0) return { missing: "strace is not installed" };
  const calls = "trace=pwrite64,write,writev,fsync,fdatasync";
  const child = spawn("strace", ["-y", "-s", "9000", "-e", calls, "-p", String(pid)], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const order = new SyncOrder();
  const lines = createInterface({ input: child.stderr });
  const read = once(lines, "close");
  const attached = Promise.withResolvers<string | undefined>();
  lines.on("line", (line) => {
    if (line.startsWith("strace: ")) attached.resolve(line.includes(" attached") ? undefined : line);
    else order.take(line);
  });
  child.on("error", (error) => attached.resolve(String(error)));
  const problem = await attached.promise;
  if (problem !== undefined) {
    await end(child);
    return { missing: problem };
  }
  return {
    async stop() {
      await end(child);
      await read;
      return order.verdict;
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGINT");
  await ended;
}
