import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";
import { pandocFile } from "../../write/pandoc.ts";
import { wordDocument } from "../../write/write-document.ts";
import { markdown, signal } from "./plan-document.ts";

describe("a converter that fails", () => {
  let workspace: Workspace;
  beforeEach(async () => {
    workspace = await aWorkspace();
    await mkdir(join(workspace.outside, "tmp"));
    vi.stubEnv("TMPDIR", join(workspace.outside, "tmp"));
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await workspace[Symbol.asyncDispose]();
  });

  it.each([
    ["ends with an error", "exit 3"],
    ["writes something else", "echo broken > made.docx"],
    ["writes nothing", "true"],
    ["cannot be started", undefined],
  ])("because it %s is replaced by the library", async (_, lines) => {
    const program = join(workspace.outside, "pandoc");
    if (lines !== undefined) {
      await writeFile(program, `#!/bin/sh\n${lines}\n`);
      await chmod(program, 0o755);
    }
    const before = await leftBehind();
    const made = await wordDocument(markdown, signal, async () => program);
    expect(made.madeBy).toBe("library");
    expect(await leftBehind()).toEqual(before);
  });

  it("gets nothing of the environment, no shell, and a folder of its own", async () => {
    const program = join(workspace.outside, "pandoc");
    const seen = join(workspace.outside, "seen");
    await writeFile(
      program,
      `#!/bin/sh\nenv > '${seen}'\npwd >> '${seen}'\nprintf '%s\\n' "$@" >> '${seen}'\nexit 1\n`,
    );
    await chmod(program, 0o755);
    vi.stubEnv("MILLRACE_TEST_SECRET", "secret");
    await wordDocument("a; $(touch x) `touch y`", signal, async () => program);
    const output = await readFile(seen, "utf8");
    expect(output).not.toContain("secret");
    expect(output).toContain("--sandbox");
    expect(output).toMatch(/millrace-document-\w+$/mu);
    expect(existsSync(workspace.root)).toBe(true);
  });

  it("is given up, and ended with all it has started, when it takes too long", async () => {
    const program = join(workspace.outside, "pandoc");
    const child = join(workspace.outside, "child");
    await writeFile(program, `#!/bin/sh\nsleep 600 &\necho $! > '${child}'\nwait\n`);
    await chmod(program, 0o755);
    expect(await pandocFile(program, markdown, "markdown", signal, 1500)).toBeUndefined();
    expect(await leftBehind()).toEqual([]);
    // One that has ended may still be in the list of processes, as a zombie.
    const id = (await readFile(child, "utf8")).trim();
    expect(await readFile(`/proc/${id}/stat`, "utf8").catch(() => "gone")).toMatch(/^(?:gone$|\d+ \(\w+\) Z )/u);
  });

  it("is ended when the run is stopped", async () => {
    const program = join(workspace.outside, "pandoc");
    const begun = join(workspace.outside, "begun");
    await writeFile(program, `#!/bin/sh\necho > '${begun}'\nsleep 600\n`);
    await chmod(program, 0o755);
    const stop = new AbortController();
    const before = await leftBehind();
    const making = wordDocument(markdown, stop.signal, async () => program);
    while (!existsSync(begun)) await new Promise((resolve) => setImmediate(resolve));
    stop.abort(new Error("stopped"));
    await expect(making).rejects.toThrow("stopped");
    expect(await leftBehind()).toEqual(before);
  });

  const leftBehind = async (): Promise<string[]> =>
    (await readdir(join(workspace.outside, "tmp"))).filter((name) => name.startsWith("millrace-"));
});
