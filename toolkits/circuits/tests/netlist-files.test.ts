import { mkdtemp, realpath, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createNetlistFiles, type NetlistFile, type NetlistFiles } from "../netlist/netlist-files.ts";

let workspace = "";
let files: NetlistFiles;
beforeEach(async () => {
  workspace = await realpath(await mkdtemp(join(tmpdir(), "millrace-netlists-")));
  files = createNetlistFiles();
});
afterEach(() => rm(workspace, { recursive: true }));

const { signal } = new AbortController();
const read = (path = "a.cir", isChanged = false): Promise<NetlistFile> =>
  files.read(workspace, path, { isChanged, signal });
/** Writes a file with a time of its own, in seconds since 1970. */
async function write(text: string, time: number, path = "a.cir"): Promise<void> {
  await writeFile(join(workspace, path), text);
  await utimes(join(workspace, path), time, time);
}

describe("files of circuits (CIRC-07)", () => {
  it("are not read again while they have not changed, and are when they have", async () => {
    await write("t\n.include one.inc", 1000);
    const first = await read();
    expect(first).toMatchObject({ text: "t\n.include one.inc", includes: ["one.inc"], modified: 1_000_000 });
    expect(await read()).toBe(first);
    await write("t\n.include two.inc", 1010);
    expect(await read()).toMatchObject({ includes: ["two.inc"] });
    await write("t\n.include third.inc", 1010);
    expect(await read()).toMatchObject({ includes: ["third.inc"] });
  });

  it("are read again when the caller reports a change, even with the same time and size", async () => {
    await write("t\n.include one.inc", 1000);
    await read();
    await write("t\n.include two.inc", 1000);
    expect(await read("a.cir", true)).toMatchObject({ includes: ["two.inc"] });
    expect(await read()).toMatchObject({ includes: ["two.inc"] });
  });

  it("that are gone are gone, and each workspace has its own", async () => {
    await write("t", 1000);
    await read();
    await rm(join(workspace, "a.cir"));
    await expect(read()).rejects.toMatchObject({ code: "not_found" });
    await write("t", 1000);
    const first = await read();
    const other = await realpath(await mkdtemp(join(tmpdir(), "millrace-netlists-")));
    try {
      await expect(files.read(other, "a.cir", { isChanged: false, signal })).rejects.toMatchObject({
        code: "not_found",
      });
    } finally {
      await rm(other, { recursive: true });
    }
    expect((await read()).text).toBe(first.text);
  });

  it("are forgotten when there are too many, the one longest unused first", async () => {
    await write("t\n.include first.inc", 1000, "first.cir");
    await write("t\n.include kept.inc", 1000, "kept.cir");
    const [first, kept] = [await read("first.cir"), await read("kept.cir")];
    for (let at = 0; at < 99; at += 1) {
      await write("t", 1000, `${at}.cir`);
      await read(`${at}.cir`);
      expect(await read("kept.cir")).toBe(kept);
    }
    expect(await read("first.cir")).not.toBe(first);
  });
});
