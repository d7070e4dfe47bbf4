import { readdir, readFile, realpath, stat, symlink, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import { readFile as readFileTool } from "../../../src/tools/files/read-file.ts";
import { ToolkitServices } from "../../../src/tools/runtime/toolkit-services.ts";
import { backgroundCommands } from "../tools/background-commands.ts";
import { executeCommand } from "../tools/execute-command.ts";
import { prepareCall, runTool } from "../../../src/tools/runtime/run-tool.ts";
import { createOutput, readable } from "../../../src/tools/programs/command-output.ts";
import { createSandboxSearch, findSandbox, sandboxArguments } from "../../../src/tools/programs/sandbox.ts";
import { Shell, shellKey } from "../commands/shell.ts";
import type { Tool, ToolContext } from "../../../src/tools/runtime/tool.ts";
import { aWorkspace, type Workspace } from "../../../tests/support/a-workspace.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";

/** The services of a session that this runs commands for. */
const serving = (shell: Shell): ToolkitServices => new ToolkitServices().add(shellKey, shell);

const sandbox = await findSandbox();
/** Each behaviour is shown without a sandbox, and in one where this machine has it. */
const kinds: ("auto" | "off")[] = sandbox === undefined ? ["off"] : ["off", "auto"];

let workspace: Workspace;
let shell: Shell;
beforeEach(async () => {
  workspace = await aWorkspace();
});
afterEach(async () => {
  await shell.close();
  await workspace[Symbol.asyncDispose]();
});

let calls = 0;
async function call(tool: Tool, input: object, more: Partial<ToolContext> = {}): Promise<ToolResult> {
  const prepared = prepareCall(tool, input);
  if (prepared.kind === "invalid") return prepared.result;
  const context = { ...workspace.context, toolkitServices: serving(shell), callId: `m/${++calls}`, ...more };
  return runTool(tool, prepared.input, context, { locks: createLocks() });
}
const execute = (command: string, more: Partial<ToolContext> = {}) =>
  call(executeCommand, { command, requires_approval: true }, more);

/** Whether a process with these words runs on this machine. */
async function runs(words: string): Promise<boolean> {
  const ids = (await readdir("/proc")).filter((name) => /^\d+$/u.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, "utf8").catch(() => "")));
  return lines.some((line) => line.replaceAll("\0", " ").trim() === words);
}

async function until(isTrue: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await isTrue())) await new Promise((resolve) => setImmediate(resolve));
}

describe.each(kinds)("a command, with the sandbox %s", (setting) => {
  beforeEach(() => {
    shell = new Shell({ sandbox: setting, hidden: [] });
  });

  it("runs in the workspace, and its output and exit code are the result", async () => {
    await workspace.fill({ "a.txt": "one\ntwo\n" });
    const result = await execute("cat a.txt");
    expect(result).toMatchObject({
      success: true,
      data: { exit_code: 0, output_file: null, is_sandboxed: setting === "auto" },
    });
    expect(result.content).toBe("Exit code 0.\none\ntwo");
  });

  it("is a failure with its output when it ends with another exit code", async () => {
    const result = await execute("echo out; echo err >&2; exit 3");
    expect(result).toMatchObject({ success: false, errorType: "execution_failed", data: { exit_code: 3 } });
    expect(result.content).toMatch(/^Exit code 3\.\n(?:out\nerr|err\nout)$/u);
  });

  it("gets its words as they are: no shell reads them", async () => {
    const result = await execute("printf '%s|' 'a b' '$HOME' '*' \"it's\"");
    expect(result.content).toBe("Exit code 0.\na b|$HOME|*|it's|");
  });

  it("changes the workspace", async () => {
    await execute("mkdir out && echo made > out/a.txt");
    expect(await readFile(join(workspace.root, "out/a.txt"), "utf8")).toBe("made\n");
  });

  it("has nothing of our environment but what it needs", async () => {
    process.env["CANARY_API_KEY"] = "canary-5071";
    try {
      const { content = "" } = await execute("env");
      const names = content
        .split("\n")
        .slice(1)
        .map((row) => row.split("=")[0]);
      expect(content).not.toContain("canary-5071");
      expect(
        names.filter((name) => !/^(?:PATH|HOME|TMPDIR|LANG|TERM|NO_COLOR|CI|MILLRACE_COMMAND|PWD)$/u.test(name ?? "")),
      ).toEqual([]);
    } finally {
      delete process.env["CANARY_API_KEY"];
    }
  });

  it("gets no input, so that nothing waits for any", async () => {
    expect((await execute("cat")).content).toBe("Exit code 0.\n(no output)");
  });

  it("is not found where there is no such program", async () => {
    const { success: isSuccess, content } = await execute("no-such-program-here --version");
    expect(isSuccess).toBe(false);
    expect(content).toMatch(/no-such-program-here/u);
  });

  it("shows the beginning and the end of a long output, and keeps all of it in a file that git leaves alone", async () => {
    const result = await execute("seq 1 200000");
    const { output_file: file } = result.data as { output_file: string };
    expect(result.content).toMatch(/^Exit code 0\.\n1\n2\n3\n/u);
    expect(result.content).toMatch(/199999\n200000\n\[the whole output is in \.commands\/[0-9a-f]+\.log; read_file/u);
    expect(result.content?.length).toBeLessThan(4800);
    const whole = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join("");
    expect(await readFile(join(workspace.root, file), "utf8")).toBe(whole);
    expect(await readFile(join(workspace.root, ".commands/.gitignore"), "utf8")).toBe("*\n");
    expect((await call(readFileTool, { path: file, start_line: 100_000, end_line: 100_000 })).content).toContain(
      "100000\n",
    );
  });

  it("keeps our memory bounded whatever it writes", async () => {
    const result = await execute("yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -c 40000000");
    const { output_file: file } = result.data as { output_file: string };
    expect((await stat(join(workspace.root, file))).size).toBeLessThan(5_000_000);
    expect(await readFile(join(workspace.root, file), "utf8")).toMatch(/\n\[\d+ bytes were not kept\]\n/u);
  });

  it("ends with all it has started when the user stops, also what has left its group", async () => {
    const mark = `9${Date.now()}${setting.length}`;
    const stop = new AbortController();
    const command = `sleep ${mark}1 & setsid sleep ${mark}2 & (setsid nohup sleep ${mark}3 &) ; sleep ${mark}4`;
    const running = execute(command, { signal: stop.signal });
    await until(() => runs(`sleep ${mark}4`));
    await until(() => runs(`sleep ${mark}3`));
    stop.abort();
    expect(await running).toMatchObject({ success: false, errorType: "cancelled" });
    for (const end of ["1", "2", "3", "4"]) await until(async () => !(await runs(`sleep ${mark}${end}`)));
  });

  it("leaves nothing behind when it ends by itself", async () => {
    const mark = `8${Date.now()}${setting.length}`;
    expect((await execute(`sleep ${mark}1 & setsid sleep ${mark}2 & echo done`)).content).toContain("done");
    expect(await runs(`sleep ${mark}1`)).toBe(false);
    expect(await runs(`sleep ${mark}2`)).toBe(false);
  });

  it("is ended at its time limit, and its output is kept", async () => {
    const request = { words: ["/bin/sh", "-c", "trap '' TERM; echo begun; sleep 1000"], workspace: workspace.root };
    const { end, shown } = await shell.run(request, new AbortController().signal, 400);
    expect(end).toBeNull();
    expect(shown).toBe("begun\n");
  });

  it("does not begin after a stop", async () => {
    const stopped = AbortSignal.abort();
    await execute("touch made", { signal: stopped });
    expect(await readdir(workspace.root)).toEqual([]);
  });

  it("works in the background until it is ended, and only its session knows it", async () => {
    const input = { command: "echo begun; sleep 1000", requires_approval: false, background: true };
    const begun = await call(executeCommand, input);
    const { id } = begun.data as { id: string };
    await until(() => shell.list("session")[0]?.output === "begun\n");
    const attend = (action: string, more: object = {}, context: Partial<ToolContext> = {}) =>
      call(backgroundCommands, { action, ...more }, context);
    expect((await attend("list")).content).toBe(`1 of 1 run.\n${id} (${input.command}) runs`);
    expect((await attend("monitor", { command_id: id })).content).toBe(`${id} (${input.command}) runs\nbegun`);
    expect((await attend("list", {}, { sessionId: "other" })).content).toContain("Nothing runs");
    expect(await attend("kill", { command_id: id }, { sessionId: "other" })).toMatchObject({ errorType: "not_found" });
    expect((await attend("cleanup")).content).toBe("None of them has ended.");
    expect((await attend("kill", { command_id: id })).content).toContain("was ended");
    expect((await attend("cleanup")).content).toBe(`Forgotten: ${id}.`);
    expect(await attend("monitor", { command_id: id })).toMatchObject({ errorType: "not_found" });
    expect(await attend("kill")).toMatchObject({ errorType: "missing_parameter" });
  });

  it("stays not in the background when the stop comes while it begins", async () => {
    const words = ["sleep", "1071"];
    const stopped = AbortSignal.abort(new Error("stopped"));
    await expect(shell.begin({ words, workspace: workspace.root }, "session", "sleep 1071", stopped)).rejects.toThrow(
      "stopped",
    );
    const controller = new AbortController();
    const begun = shell.begin({ words, workspace: workspace.root }, "session", "sleep 1071", controller.signal);
    controller.abort(new Error("stopped"));
    await expect(begun).rejects.toThrow("stopped");
    expect(shell.list("session")).toEqual([]);
    expect(await runs("sleep 1071")).toBe(false);
  });

  it("does not begin more than four in the background when they are asked for at once", async () => {
    const input = { command: "sleep 1000", requires_approval: false, background: true };
    const results = await Promise.all(Array.from({ length: 7 }, () => call(executeCommand, input)));
    expect(results.filter(({ success }) => success).length).toBe(4);
  });

  it("does not begin in the background when four run there already, nor when the server closes", async () => {
    const input = { command: "sleep 1000", requires_approval: false, background: true };
    for (let count = 0; count < 4; count += 1) await call(executeCommand, input);
    expect(await call(executeCommand, input)).toMatchObject({ errorType: "conflict" });
    await shell.close();
    expect(shell.list("session").map(({ status }) => status)).toEqual(["stopped", "stopped", "stopped", "stopped"]);
    expect(await execute("pwd")).toMatchObject({ errorType: "invalid_state" });
  });
});

it("looks for its sandbox once, also where two ask for it at the same time (ARCH-14)", async () => {
  shell = new Shell({ sandbox: "auto", hidden: [] });
  const [one, other] = [shell.sandbox(), shell.sandbox()];
  expect(one).toBe(other);
  expect(shell.sandbox()).toBe(one);
  await one;
});

it("has a sandbox from the next look on, where one slow moment let none be made", async () => {
  const found = [undefined, "/usr/bin/bwrap"];
  let [now, looks] = [0, 0];
  const look = async () => found[looks++];
  shell = new Shell({ sandbox: "auto", hidden: [], search: createSandboxSearch(look, () => now) });
  for (const [time, program, times] of [
    [0, undefined, 1],
    [59_999, undefined, 1],
    [60_000, "/usr/bin/bwrap", 2],
    [1e9, "/usr/bin/bwrap", 2],
  ] as const) {
    now = time;
    expect(await shell.sandbox()).toBe(program);
    expect(looks).toBe(times);
  }
});

it("looks for a sandbox again where the look itself failed", async () => {
  let looks = 0;
  const search = createSandboxSearch(async () => {
    looks += 1;
    if (looks === 1) throw new Error("no memory for a process");
    return "/usr/bin/bwrap";
  });
  await expect(search()).rejects.toThrow("no memory");
  expect(await search()).toBe("/usr/bin/bwrap");
});

it("reports how a command ran, even if a sandbox was found since", async () => {
  const found = [undefined, "/usr/bin/bwrap"];
  shell = new Shell({ sandbox: "auto", hidden: [], search: async () => found.shift() });
  const result = await execute("echo made");
  expect(result).toMatchObject({ success: true, data: { is_sandboxed: false } });
});

it.each([
  ["by its own name", "/usr/share", ["/usr/share"]],
  ["by a link", "link", ["/usr/share"]],
  ["which is not there (any more)", "/usr/no-such-folder", []],
  ["outside of what is shown", "", []],
])("a folder that is hidden %s is covered wherever the sandbox shows it", async (_, name, expected) => {
  shell = new Shell({ sandbox: "off", hidden: [] });
  await symlink("/usr/share", join(workspace.outside, "link"));
  expect(covered(resolve(workspace.outside, name))).toEqual(expected);
});

it("a file that is hidden is covered under both names of the folder around it", async () => {
  shell = new Shell({ sandbox: "off", hidden: [] });
  // On most machines /bin is a link to /usr/bin, and a sandbox shows both.
  const real = await realpath("/bin");
  const file = (await readdir(real, { withFileTypes: true })).find((entry) => entry.isFile())?.name ?? "sh";
  expect(covered(join(real, file)).toSorted()).toEqual([...new Set([`/bin/${file}`, join(real, file)])].toSorted());
});

/** What a sandbox has in place of a folder or a file, besides what all have so. */
function covered(place: string): string[] {
  const given = sandboxArguments(["true"], { workspace: workspace.root, hidden: [place], environment: {} });
  const places = given.flatMap((word, index) =>
    given[index - 1] === "--tmpfs" || given[index - 1] === "/dev/null" ? [word] : [],
  );
  return places.filter((place) => place !== "/tmp" && place !== "/run");
}

describe.runIf(sandbox !== undefined)("the sandbox", () => {
  beforeEach(() => {
    shell = new Shell({ sandbox: "auto", hidden: [] });
  });

  it("shows nothing of the machine but its programs", async () => {
    await writeFile(join(workspace.outside, "secret.txt"), "canary-7719");
    for (const path of [
      `${workspace.outside}/secret.txt`,
      "/etc/passwd",
      "/etc/shadow",
      "/root/.bashrc",
      "/proc/1/environ",
    ]) {
      const { content } = await execute(`cat ${path}`);
      expect(content).not.toMatch(/canary-7719|root:|CANARY/u);
    }
    expect((await execute("ls /home /root /var /mnt")).success).toBe(false);
  });

  it("shows no folder that is hidden, also where that is reached by a link", async () => {
    const link = join(workspace.outside, "data");
    await symlink("/usr/share", link);
    expect((await execute("ls -d /usr/share/doc")).success).toBe(true);
    shell = new Shell({ sandbox: "auto", hidden: [link] });
    expect((await execute("ls -d /usr/share/doc")).success).toBe(false);
    expect((await execute("ls -d /usr/share")).success).toBe(true);
  });

  it("shows nothing of a file that is hidden", async () => {
    expect((await execute("wc -c /usr/bin/env")).content).toMatch(/[1-9]\d* \/usr\/bin\/env/u);
    shell = new Shell({ sandbox: "auto", hidden: ["/usr/bin/env"] });
    expect((await execute("wc -c /usr/bin/env")).content).not.toMatch(/[1-9]\d* \/usr\/bin\/env/u);
    expect((await execute("wc -c /usr/bin/wc")).success).toBe(true);
  });

  it("runs commands when what was to be hidden is gone", async () => {
    shell = new Shell({ sandbox: "auto", hidden: ["/usr/bin/.env.swp"] });
    expect((await execute("echo works")).content).toContain("works");
  });

  it("lets nothing be written outside of the workspace", async () => {
    for (const path of ["/usr/made", "/etc/made", `${workspace.outside}/made`, "/opt/made"]) {
      await shell.run(
        { words: ["/bin/sh", "-c", `echo a > ${path}`], workspace: workspace.root },
        new AbortController().signal,
        5000,
      );
    }
    expect(await readdir(workspace.outside)).toEqual(["workspace"]);
    expect(await readdir("/usr")).not.toContain("made");
  });

  it("gives no rights by which it could be opened", async () => {
    const command = "mount -o remount,rw /usr; umount /usr; echo a > /usr/made; grep CapEff /proc/self/status";
    const request = { words: ["/bin/sh", "-c", command], workspace: workspace.root };
    const { shown } = await shell.run(request, new AbortController().signal, 5000);
    expect(shown).toContain("CapEff:\t0000000000000000");
    expect(await readdir("/usr")).not.toContain("made");
  });

  it("bounds what a file of it may hold", async () => {
    const { content } = await execute("prlimit --fsize --core --output RESOURCE,HARD --noheadings");
    expect(content).toMatch(/CORE\s+0/u);
    expect(content).toMatch(/FSIZE\s+1073741824/u);
  });

  it("has no network", async () => {
    const { content = "" } = await execute("cat /proc/net/dev");
    expect(
      content
        .split("\n")
        .filter((row) => row.includes(":"))
        .map((row) => row.split(":")[0]?.trim()),
    ).toEqual(["lo"]);
  });

  it("sees no process of the machine", async () => {
    const { content = "" } = await execute("ls /proc");
    expect(content.split("\n").filter((name) => /^\d+$/u.test(name)).length).toBeLessThan(6);
  });

  it("runs the programs of this runtime", async () => {
    expect((await execute("node --version")).content).toContain(process.version);
  });
});

describe("output", () => {
  beforeEach(() => {
    shell = new Shell({ sandbox: "off", hidden: [] });
  });

  it.each([
    ["\u001B[31mred\u001B[0m", "red"],
    ["\u001B]0;title\u0007text", "text"],
    ["10%\r20%\r100%\ndone", "100%\ndone"],
    ["a\r\nb", "a\nb"],
    ["a\u0000b\u202Ec", "abc"],
    ["汉字 é", "汉字 é"],
  ])("%j is read as %j", (written, text) => {
    expect(readable(written)).toBe(text);
  });

  it("of a text that fits is whole, of a longer one the two ends", () => {
    const output = createOutput();
    output.add(Buffer.from("a".repeat(4000)));
    expect(output.text()).toEqual({ shown: "a".repeat(4000), isWhole: true });
    output.add(Buffer.from("b"));
    expect(output.text()).toMatchObject({ isWhole: false });
    expect(output.text().shown).toMatch(/^a{1500}\n\[… 1 characters are not shown …\]\na{2499}b$/u);
  });

  it("of a command that has ended in the background takes no more than is shown of it", () => {
    const output = createOutput();
    for (const letter of "abcdefgh") output.add(Buffer.from(letter.repeat(1024 * 1024)));
    const before = output.text();
    output.shrink();
    expect(output.text()).toEqual(before);
    expect(output.whole().length).toBeLessThan(200_000);
  });
});
