import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runHelp } from "../external-tools/tool-help.ts";
import { createToolFolders, type ExternalToolSource } from "../external-tools/tool-folders.ts";

let root: string;
let logged: object[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "millrace-tools-"));
  logged = [];
  mkdirSync(join(root, "project"));
});
afterEach(() => rmSync(root, { recursive: true }));

const { signal } = new AbortController();

function open(runsHelp = false): ExternalToolSource {
  const logger = { warn: (fields: unknown) => void logged.push({ ...(typeof fields === "object" ? fields : {}) }) };
  const places = { workspace: join(root, "project"), home: join(root, "home") };
  return createToolFolders({ ...places, toolNames: new Set(["read_file"]), runsHelp, logger });
}

function write(path: string, text: string | Uint8Array, mode = 0o644): string {
  const file = join(root, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text, { mode });
  return file;
}

const script = (help: string): string => `#!/bin/sh\n# Usage: ${help}\n`;

describe("external tools", () => {
  it("are scripts and programs of four folders; the first of each name counts, with a warning", async () => {
    write("project/.autocodertools/count.sh", script("first"));
    write("project/.auto-coder/.autocodertools/count.py", script("second"));
    write("project/.auto-coder/.autocodertools/deploy", Uint8Array.from([0x7f, 0x45, 0x4c, 0x46, 0]), 0o755);
    write("home/.auto-coder/.autocodertools/lint.js", "// Usage: third");
    write("home/.auto-coder/.autocodertools/repos/project/lint.rb", script("fourth"));
    write("home/.auto-coder/.autocodertools/repos/project/own.pl", script("fourth"));
    write("home/.auto-coder/.autocodertools/repos/other/never.sh", script("never"));
    write("project/.autocodertools/notes.md", "no tool");
    write("project/.autocodertools/more.tools/inner.sh", script("never"));
    const { tools, folders, problems } = await open().load({ signal });
    expect(tools.map(({ name, path, executable, help }) => [name, path, executable, help])).toEqual([
      ["count", ".autocodertools/count.sh", false, "Usage: first"],
      ["deploy", ".auto-coder/.autocodertools/deploy", true, "Tool command: deploy"],
      ["lint", "~/.auto-coder/.autocodertools/lint.js", false, "Usage: third"],
      ["own", "~/.auto-coder/.autocodertools/repos/project/own.pl", false, "Usage: fourth"],
    ]);
    expect(folders).toHaveLength(4);
    expect(problems).toEqual([
      {
        file: ".auto-coder/.autocodertools/count.py",
        problem: ".autocodertools/count.sh has the same name and counts instead",
      },
      { file: "~/.auto-coder/.autocodertools/repos/project/lint.rb", problem: expect.stringContaining("lint.js") },
    ]);
    expect(logged).toEqual(problems);
  });

  it("are scripts of eight languages, by their endings, whether they may be executed or not", async () => {
    const endings = ["go", "js", "php", "pl", "py", "rb", "rs", "sh"];
    for (const ending of [...endings, "md", "txt", "ts", "exe"]) {
      write(`project/.autocodertools/${ending}.${ending}`, "", ending === "py" ? 0o755 : 0o644);
    }
    const { tools, problems } = await open().load({ signal });
    expect(tools.map(({ extension }) => extension)).toEqual(endings.map((ending) => `.${ending}`));
    expect(tools.filter(({ executable }) => executable).map(({ name }) => name)).toEqual(["py"]);
    expect(problems).toEqual([]);
  });

  it("never replace a built-in tool (CTX-04)", async () => {
    write("project/.autocodertools/read_file.sh", script("mine"));
    const { tools, problems } = await open().load({ signal });
    expect(tools).toEqual([]);
    expect(problems).toEqual([
      { file: ".autocodertools/read_file.sh", problem: expect.stringContaining("tool of the house") },
    ]);
  });

  it("that cannot be used are left out with a reason, and the others count", async () => {
    write("secret", "# Usage: secret");
    mkdirSync(join(root, "project/.autocodertools/folder.sh"), { recursive: true });
    write("project/.autocodertools/plain", "no program");
    write("project/.autocodertools/good.sh", script("good"));
    symlinkSync(join(root, "secret"), join(root, "project/.autocodertools/out.sh"));
    symlinkSync("round.sh", join(root, "project/.autocodertools/round.sh"));
    const { tools, problems } = await open().load({ signal });
    expect(tools.map(({ name }) => name)).toEqual(["good"]);
    expect(Object.fromEntries(problems.map(({ file, problem }) => [file, problem]))).toEqual({
      ".autocodertools/folder.sh": expect.stringContaining("not a regular file"),
      ".autocodertools/plain": expect.stringContaining("may not be executed"),
      ".autocodertools/out.sh": expect.stringContaining("leads out"),
      ".autocodertools/round.sh": expect.stringContaining("ELOOP"),
    });
  });

  it("are run for their help only where that is allowed, when they are new or changed, or when that is asked for", async () => {
    const ran = join(root, "ran");
    const program = (help: string): string => `#!/bin/sh\n# Usage: comment\necho "$1" >> '${ran}'\necho ${help}\n`;
    const file = write("project/.autocodertools/hello", program("one"), 0o755);
    expect((await open().load({ signal })).tools[0]?.help).toBe("Usage: comment");
    expect(existsSync(ran)).toBe(false);
    const source = open(true);
    await source.load({ signal });
    expect((await source.load({ signal })).tools[0]?.help).toBe("one");
    expect(readFileSync(ran, "utf8")).toBe("help\n");
    await source.load({ signal, force: true });
    expect(readFileSync(ran, "utf8")).toBe("help\nhelp\n");
    write("project/.autocodertools/hello", program("another"), 0o755);
    expect((await source.load({ signal })).tools[0]?.help).toBe("another");
    chmodSync(file, 0o644);
    expect((await source.load({ signal })).tools).toEqual([]);
  });
});

describe("a program that is asked for its help", () => {
  const program = (body: string): string => write("tool", `#!/bin/sh\n${body}\n`, 0o755);

  it.each([
    ["[ $1 = help ] && echo first", "first"],
    ["[ $1 = -h ] && echo second", "second"],
    ["[ $1 = --help ] && echo third >&2", "third"],
    ["echo no; exit 1", null],
    ["exit 0", null],
    ["cat", null],
    ['echo "$SECRET_OF_TEST-$HOME-$1"', "--help"],
  ])("%s", async (body, said) => {
    process.env["SECRET_OF_TEST"] = "secret";
    expect(await runHelp(program(body), signal)).toBe(said);
    delete process.env["SECRET_OF_TEST"];
  });

  it("says at most what a model should read, however much it writes", async () => {
    expect((await runHelp(program("head -c 3000000 /dev/zero | tr '\\0' x"), signal))?.length).toBe(4000);
  });

  it("has five seconds for each of the three ways to ask", async () => {
    const timeout = vi.spyOn(AbortSignal, "timeout");
    expect(await runHelp(program("exit 1"), signal)).toBeNull();
    // Servers of other tests in this process wait for something else.
    expect(timeout.mock.calls.filter(([milliseconds]) => milliseconds === 5000)).toHaveLength(3);
    timeout.mockRestore();
  });

  it("is ended with all that it has started when its time is up", async () => {
    const mark = join(root, "pid");
    expect(await runHelp(program(`sleep 600 & echo $! > '${mark}'; wait`), signal, 300)).toBeNull();
    const pid = Number(readFileSync(mark, "utf8"));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  it("does not hold us up by what it leaves behind", async () => {
    const mark = join(root, "pid");
    expect(await runHelp(program(`sleep 600 & echo $! > '${mark}'; echo done`), signal)).toBe("done");
    await expect.poll(() => isRunning(Number(readFileSync(mark, "utf8")))).toBe(false);
  });

  it("that is being written just now gives none", async () => {
    const file = program("echo half of it");
    const writing = openSync(file, "r+");
    try {
      expect(await runHelp(file, signal)).toBeNull();
    } finally {
      closeSync(writing);
    }
    expect(await runHelp(file, signal)).toBe("half of it");
  });

  it("that cannot be started gives none, and none is started once the run is stopped", async () => {
    expect(await runHelp(write("tool", "no program", 0o755), signal)).toBeNull();
    expect(await runHelp(program("echo never"), AbortSignal.abort())).toBeNull();
  });
});

/** Whether a process is there and not just waiting to be noticed as ended. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/u.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
