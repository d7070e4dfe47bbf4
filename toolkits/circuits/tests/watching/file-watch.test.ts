import { mkdir, mkdtemp, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { FileNews } from "../../../../src/events.ts";
import { systemClock, type Clock } from "../../watching/debounce.ts";
import type { FileChange } from "../../watching/file-changes.ts";
import { FileWatch, type FileWatchOptions } from "../../watching/file-watch.ts";

let root = "";
let ends: (() => unknown)[] = [];
beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "millrace-watch-")));
  ends = [() => rm(root, { recursive: true, force: true })];
});
afterEach(async () => {
  for (const end of ends.toReversed()) await end();
});

async function fill(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
}

/** An event, without its type and its time. */
type FileEvent = Partial<Record<string, unknown>>;
const isOf = (event: FileEvent, path: string): boolean => event["path"] === path;

/** Watches the folder; `next` gives that many of the next events, `until` all events up to the one that `isLast` accepts. */
async function follow(options: Partial<FileWatchOptions> = {}) {
  const warned: object[] = [];
  const logger = { info: () => undefined, warn: (fields: object) => warned.push(fields) };
  const watch = new FileWatch(root, { logger, ...options });
  const going = new AbortController();
  ends.push(async () => {
    going.abort();
    await watch.close();
  });
  watch.start();
  const events: FileNews[] = [];
  const batches = watch.follow(going.signal);
  const next = async (count: number): Promise<FileEvent[]> => {
    while (events.length < count) events.push(...((await batches.next()).value ?? []));
    return events.splice(0, count).map(({ type, time, ...what }) => {
      expect(time).toMatch(/^20\d\d-.*Z$/u);
      expect(type).toBe("status" in what ? "file_watch" : "file_changed");
      return what;
    });
  };
  const [status] = await next(1);
  const until = async (isLast: (event: FileEvent) => boolean): Promise<FileEvent[]> => {
    const all = await next(1);
    for (let last = all.at(-1); last === undefined || !isLast(last); last = all.at(-1)) all.push(...(await next(1)));
    return all;
  };
  return { watch, next, until, status, warned, path: (name: string) => join(root, name) };
}

const of = (path: string, event_type: string, is_directory = false): object => ({ path, event_type, is_directory });

it("reports created, modified, moved and deleted files with their kind, and no others", async () => {
  await fill({ "amp.cir": "* amp\n", "sub/old.lib": "* lib\n", "notes.txt": "x", ".circuit_ai/state.json": "{}" });
  const { next, status, path } = await follow();
  expect(status).toEqual({ status: "on", folders: 2, files: 2, reason: null });
  await fill({ "notes.txt": "more", ".circuit_ai/state.json": "[]", "amp.cir.tmp": "half", "amp.cir~": "old" });
  await fill({ "new.cir": "* new\n" });
  expect(await next(1)).toEqual([of("new.cir", "created")]);
  await fill({ "amp.cir": "* longer\n" });
  expect(await next(1)).toEqual([of("amp.cir", "modified")]);
  await rename(path("new.cir"), path("sub/moved.cir"));
  expect(await next(1)).toEqual([{ ...of("new.cir", "moved"), dest_path: "sub/moved.cir" }]);
  await rm(path("sub/moved.cir"));
  expect(await next(1)).toEqual([of("sub/moved.cir", "deleted")]);
});

it("reports one change when an editor replaces a file", async () => {
  await fill({ "amp.cir": "* amp\n" });
  const { next, path } = await follow();
  for (const text of ["* one\n", "* two\n", "* three\n"]) {
    await fill({ "amp.cir.tmp": text });
    await rename(path("amp.cir.tmp"), path("amp.cir"));
  }
  await fill({ "last.cir": "* last\n" });
  expect(await next(2)).toEqual([of("amp.cir", "modified"), of("last.cir", "created")]);
});

it("reports folders with their contents, and watches new ones", async () => {
  await fill({ "old/deep/a.cir": "* a\n", "old/b.sub": "* b\n" });
  const { next, path } = await follow();
  await rename(path("old"), path("new"));
  expect(await next(4)).toEqual([
    { ...of("old", "moved", true), dest_path: "new" },
    { ...of("old/b.sub", "moved"), dest_path: "new/b.sub" },
    { ...of("old/deep", "moved", true), dest_path: "new/deep" },
    { ...of("old/deep/a.cir", "moved"), dest_path: "new/deep/a.cir" },
  ]);
  await fill({ "new/deep/a.cir": "* changed\n" });
  expect(await next(1)).toEqual([of("new/deep/a.cir", "modified")]);
  await fill({ "made/in/one/go.spice": "* go\n" });
  expect(await next(4)).toEqual([
    of("made", "created", true),
    of("made/in", "created", true),
    of("made/in/one", "created", true),
    of("made/in/one/go.spice", "created"),
  ]);
  await rm(path("made"), { recursive: true });
  expect(await next(4)).toHaveLength(4);
});

it("goes on to watch a folder that was removed and made again at once, which may be given the same number", async () => {
  await fill({ "x/a.cir": "* a\n" });
  const { next, path } = await follow();
  await rm(path("x"), { recursive: true });
  await mkdir(path("x"));
  await fill({ "last.cir": "* last\n" });
  const events = [...(await next(1)), ...(await next(1))];
  expect(events).toEqual(expect.arrayContaining([of("last.cir", "created"), of("x/a.cir", "deleted")]));
  await fill({ "x/b.cir": "* b\n" });
  expect(await next(1)).toEqual([of("x/b.cir", "created")]);
});

/** The process's clock for signs, and one in a hurry for what waits longer. */
const hurried: Clock = { ...systemClock, after: (wait, work) => systemClock.after(Math.min(wait, 50), work) };

it("says so when the workspace itself is removed, and watches it again when it is back", async () => {
  await fill({ "sub/a.cir": "* a\n" });
  const { until } = await follow({ clock: hurried });
  await rm(root, { recursive: true });
  const gone = await until(({ reason }) => typeof reason === "string");
  expect(gone.at(-1)).toEqual({
    status: "part",
    folders: 0,
    files: 0,
    reason: expect.stringContaining("is not there"),
  });
  const deleted = await until((event) => isOf(event, "sub/a.cir"));
  expect(deleted.at(-1)).toEqual(of("sub/a.cir", "deleted"));
  await fill({ "sub/b.cir": "* b\n" });
  const back = await until((event) => isOf(event, "sub/b.cir"));
  expect(back).toContainEqual(expect.objectContaining({ status: "on", reason: null }));
  await fill({ "sub/b.cir": "* changed\n" });
  expect((await until((event) => isOf(event, "sub/b.cir"))).at(-1)).toEqual(of("sub/b.cir", "modified"));
});

it("goes on to watch a workspace that is replaced at once by another, also by the one that it was", async () => {
  await fill({ "sub/a.cir": "* a\n" });
  const { until } = await follow({ clock: hurried });
  await rename(root, `${root}-former`);
  ends.push(() => rm(`${root}-former`, { recursive: true, force: true }));
  await fill({ "new.cir": "* new\n" });
  await until((event) => isOf(event, "new.cir"));
  await rm(root, { recursive: true });
  await rename(`${root}-former`, root);
  await until((event) => isOf(event, "sub/a.cir") && event["event_type"] === "created");
  await fill({ "sub/a.cir": "* longer than it was\n" });
  expect((await until((event) => isOf(event, "sub/a.cir"))).at(-1)).toEqual(of("sub/a.cir", "modified"));
});

it("ends a follower when its signal aborts, even before it has begun", async () => {
  const watch = new FileWatch(root, { logger: { info: () => undefined, warn: () => undefined } });
  const going = new AbortController();
  const first = watch.follow(going.signal).next();
  going.abort();
  expect((await first).done).toBe(true);
  expect((await watch.follow(going.signal).next()).done).toBe(true);
  await watch.close();
});

it("follows no link out of the folder", async () => {
  const outside = await realpath(await mkdtemp(join(tmpdir(), "millrace-outside-")));
  ends.push(() => rm(outside, { recursive: true }));
  await symlink(outside, join(root, "link"));
  const { next, status } = await follow();
  expect(status).toMatchObject({ folders: 1, files: 0 });
  await writeFile(join(outside, "secret.cir"), "x");
  await fill({ "own.cir": "x" });
  expect(await next(1)).toEqual([of("own.cir", "created")]);
});

it("calls other listeners, even without followers", async () => {
  const noted = Promise.withResolvers<FileChange>();
  await follow({ onChange: noted.resolve });
  await fill({ "a.cir": "x" });
  expect(await noted.promise).toEqual(of("a.cir", "created"));
});

it("says that it does not watch all, and goes on with the rest", async () => {
  await fill({ "a/a.cir": "x", "b/b.cir": "x", "c/c.cir": "x" });
  const { next, status, warned } = await follow({ limits: { folders: 2, files: 10 } });
  expect(status).toMatchObject({ status: "part", folders: 2, reason: expect.stringMatching(/more than 2 folders/u) });
  expect(warned).toHaveLength(1);
  await fill({ "top.cir": "x" });
  expect(await next(1)).toEqual([of("top.cir", "created")]);
});

it("looks at twenty thousand files with one watch for each folder, and leaves the process free meanwhile", async () => {
  const names = Array.from({ length: 100 }, (_, folder) => `f${folder}`);
  for (const name of names) {
    await mkdir(join(root, name));
    await Promise.all(Array.from({ length: 200 }, (_, file) => writeFile(join(root, name, `${file}.cir`), "")));
  }
  const { status } = await follow();
  expect(status).toEqual({ status: "on", folders: 101, files: 20_000, reason: null });
  // Everything else has its turn in between: a file is read many times long before another watch is through.
  let isThrough = false;
  const other = new FileWatch(root, { logger: { info: () => (isThrough = true), warn: () => undefined } });
  ends.push(() => other.close());
  other.start();
  for (let turn = 0; turn < 20; turn += 1) await readFile(join(root, "f0/0.cir"));
  expect(isThrough).toBe(false);
});

it("can be closed before it has begun, while it looks, and twice", async () => {
  await fill({ "a/b/c.cir": "x" });
  const logger = { info: () => undefined, warn: () => undefined };
  await new FileWatch(root, { logger }).close();
  const watch = new FileWatch(root, { logger, onChange: () => expect.unreachable("it is closed") });
  watch.start();
  await watch.close();
  await fill({ "a/b/c.cir": "y" });
  await expect(watch.close()).resolves.toBeUndefined();
});
