import { expect, test } from "vitest";
import { SyncOrder } from "./sync-trace.ts";

const id = "0192d1c4-7d5e-7000-8000-0000000000aa";
const log = "23</data/millrace.db-wal>";
const middle = `pwrite64(${log}, "\\0\\0\\0\\21\\0\\0\\0\\0\\353\\4\\"\\267", 24, 32) = 24`;
const last = `pwrite64(${log}, "\\0\\0\\0\\21\\0\\0\\0)\\353\\4\\"\\267", 24, 32) = 24`;
const page = `pwrite64(${log}, "\\r\\0\\0pending\\0070${id}success"..., 8192, 56) = 8192`;
const sync = `fsync(${log}) = 0`;
const failedSync = `fsync(${log}) = -1 EIO (Input/output error)`;
const otherSync = "fsync(24</data/millrace.db>) = 0";
const answer = `write(29<socket:[742916]>, "HTTP/1.1 200 OK\\r\\ncontent-location: /threads/${id.replace("aa", "bb")}/runs/${id}\\r\\n", 300) = 300`;

test.each([
  ["a commit, its sync and then the answer", [last, page, sync, answer], []],
  ["a commit of several frames", [middle, page, last, page, sync, answer], []],
  ["an answer before the sync", [last, page, answer, sync], [id]],
  ["no sync", [last, page, answer], [id]],
  ["a sync of what was there before the commit", [sync, last, page, answer], [id]],
  ["a sync in the middle of the commit", [middle, page, sync, answer], [id]],
  ["a sync that failed", [last, page, failedSync, answer], [id]],
  ["a sync of another file", [last, page, otherSync, answer], [id]],
])("the judge of syncs sees %s", (_what, lines, early) => {
  const order = new SyncOrder();
  for (const line of lines) order.take(line);
  expect(order.verdict).toEqual({ answered: new Set([id]), early });
});
