import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readFile as readFileTool } from "../../../src/tools/files/read-file.ts";
import { createOutput, readable } from "../../../src/tools/programs/command-output.ts";
import { findSandbox } from "../../../src/tools/programs/sandbox.ts";
import type { ToolContext } from "../../../src/tools/runtime/tool.ts";
import { Shell } from "../commands/shell.ts";
import { backgroundCommands } from "../tools/background-commands.ts";
import { executeCommand } from "../tools/execute-command.ts";
import { openCommandShell, runs, until, type CommandShell } from "./command-shell.ts";

const sandbox = await findSandbox();
/** Each behaviour is shown without a sandbox, and in one where this machine has it. */
const kinds: ("auto" | "off")[] = sandbox === undefined ? ["off"] : ["off", "auto"];

let fixture: CommandShell;
beforeEach(async () => {
  fixture = await openCommandShell();
});
afterEach(() => fixture.close());

describe.each(kinds)("a command, with the sandbox %s", (setting) => {
  beforeEach(() => {
    fixture.shell = new Shell({ sandbox: setting, hidden: [] });
  });

  it("runs in the workspace, and its output and exit code are the result", async () => {
    await fixture.workspace.fill({ "a.txt": "one\ntwo\n" });
    const result = await fixture.execute("cat a.txt");
    expect(result).toMatchObject({
      success: true,
      data: { exit_code: 0, output_file: null, is_sandboxed: setting === "auto" },
    });
    expect(result.content).toBe("Exit code 0.\none\ntwo");
  });

  it("is a failure with its output when it ends with another exit code", async () => {
    const result = await fixture.execute("echo out; echo err >&2; exit 3");
    expect(result).toMatchObject({ success: false, errorType: "execution_failed", data: { exit_code: 3 } });
    expect(result.content).toMatch(/^Exit code 3\.\n(?:out\nerr|err\nout)$/u);
  });

  it("gets its words as they are: no shell reads them", async () => {
    const result = await fixture.execute("printf '%s|' 'a b' '$HOME' '*' \"it's\"");
    expect(result.content).toBe("Exit code 0.\na b|$HOME|*|it's|");
  });

  it("changes the workspace", async () => {
    await fixture.execute("mkdir out && echo made > out/a.txt");
    expect(await readFile(join(fixture.workspace.root, "out/a.txt"), "utf8")).toBe("made\n");
  });

  it("has nothing of our environment but what it needs", async () => {
    process.env["CANARY_API_KEY"] = "canary-5071";
    try {
      const { content = "" } = await fixture.execute("env");
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
    expect((await fixture.execute("cat")).content).toBe("Exit code 0.\n(no output)");
  });

  it("is not found where there is no such program", async () => {
    const { success: isSuccess, content } = await fixture.execute("no-such-program-here --version");
    expect(isSuccess).toBe(false);
    expect(content).toMatch(/no-such-program-here/u);
  });

  it("shows the beginning and the end of a long output, and keeps all of it in a file that git leaves alone", async () => {
    const result = await fixture.execute("seq 1 200000");
    const { output_file: file } = result.data as { output_file: string };
    expect(result.content).toMatch(/^Exit code 0\.\n1\n2\n3\n/u);
    expect(result.content).toMatch(/199999\n200000\n\[the whole output is in \.commands\/[0-9a-f]+\.log; read_file/u);
    expect(result.content?.length).toBeLessThan(4800);
    const whole = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join("");
    expect(await readFile(join(fixture.workspace.root, file), "utf8")).toBe(whole);
    expect(await readFile(join(fixture.workspace.root, ".commands/.gitignore"), "utf8")).toBe("*\n");
    expect(
      (await fixture.call(readFileTool, { path: file, start_line: 100_000, end_line: 100_000 })).content,
    ).toContain("100000\n");
  });

  it("keeps our memory bounded whatever it writes", async () => {
    const result = await fixture.execute("yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -c 40000000");
    const { output_file: file } = result.data as { output_file: string };
    expect((await stat(join(fixture.workspace.root, file))).size).toBeLessThan(5_000_000);
    expect(await readFile(join(fixture.workspace.root, file), "utf8")).toMatch(/\n\[\d+ bytes were not kept\]\n/u);
  });

  it("ends with all it has started when the user stops, also what has left its group", async () => {
    const mark = `9${Date.now()}${setting.length}`;
    const stop = new AbortController();
    const command = `sleep ${mark}1 & setsid sleep ${mark}2 & (setsid nohup sleep ${mark}3 &) ; sleep ${mark}4`;
    const running = fixture.execute(command, { signal: stop.signal });
    await until(() => runs(`sleep ${mark}4`));
    await until(() => runs(`sleep ${mark}3`));
    stop.abort();
    expect(await running).toMatchObject({ success: false, errorType: "cancelled" });
    for (const end of ["1", "2", "3", "4"]) await until(async () => !(await runs(`sleep ${mark}${end}`)));
  });

  it("leaves nothing behind when it ends by itself", async () => {
    const mark = `8${Date.now()}${setting.length}`;
    expect((await fixture.execute(`sleep ${mark}1 & setsid sleep ${mark}2 & echo done`)).content).toContain("done");
    expect(await runs(`sleep ${mark}1`)).toBe(false);
    expect(await runs(`sleep ${mark}2`)).toBe(false);
  });

  it("is ended at its time limit, and its output is kept", async () => {
    const request = {
      words: ["/bin/sh", "-c", "trap '' TERM; echo begun; sleep 1000"],
      workspace: fixture.workspace.root,
    };
    const { end, shown } = await fixture.shell.run(request, new AbortController().signal, 400);
    expect(end).toBeNull();
    expect(shown).toBe("begun\n");
  });

  it("does not begin after a stop", async () => {
    const stopped = AbortSignal.abort();
    await fixture.execute("touch made", { signal: stopped });
    expect(await readdir(fixture.workspace.root)).toEqual([]);
  });

  it("works in the background until it is ended, and only its session knows it", async () => {
    const input = { command: "echo begun; sleep 1000", requires_approval: false, background: true };
    const begun = await fixture.call(executeCommand, input);
    const { id } = begun.data as { id: string };
    await until(() => fixture.shell.list("session")[0]?.output === "begun\n");
    const attend = (action: string, more: object = {}, context: Partial<ToolContext> = {}) =>
      fixture.call(backgroundCommands, { action, ...more }, context);
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

  it("is not said to be missing at a server that is one of several: another one may run it", async () => {
    fixture.shell = new Shell({ sandbox: "off", hidden: [], hasOtherServers: () => true });
    const listed = await fixture.call(backgroundCommands, { action: "list" });
    const elsewhere = "A command that another server has started may still run there.";
    expect(listed.content).toBe(`Nothing runs in the background of this conversation at this server. ${elsewhere}`);
    const killed = await fixture.call(backgroundCommands, { action: "kill", command_id: "command-1" });
    expect(killed).toMatchObject({ errorType: "not_found", suggestion: elsewhere });
  });

  it("stays not in the background when the stop comes while it begins", async () => {
    const words = ["sleep", "1071"];
    const stopped = AbortSignal.abort(new Error("stopped"));
    await expect(
      fixture.shell.begin({ words, workspace: fixture.workspace.root }, "session", "sleep 1071", stopped),
    ).rejects.toThrow("stopped");
    const controller = new AbortController();
    const begun = fixture.shell.begin(
      { words, workspace: fixture.workspace.root },
      "session",
      "sleep 1071",
      controller.signal,
    );
    controller.abort(new Error("stopped"));
    await expect(begun).rejects.toThrow("stopped");
    expect(fixture.shell.list("session")).toEqual([]);
    expect(await runs("sleep 1071")).toBe(false);
  });

  it("does not begin more than four in the background when they are asked for at once", async () => {
    const input = { command: "sleep 1000", requires_approval: false, background: true };
    const results = await Promise.all(Array.from({ length: 7 }, () => fixture.call(executeCommand, input)));
    expect(results.filter(({ success }) => success).length).toBe(4);
  });

  it("does not begin in the background when four run there already, nor when the server closes", async () => {
    const input = { command: "sleep 1000", requires_approval: false, background: true };
    for (let count = 0; count < 4; count += 1) await fixture.call(executeCommand, input);
    expect(await fixture.call(executeCommand, input)).toMatchObject({ errorType: "conflict" });
    await fixture.shell.close();
    expect(fixture.shell.list("session").map(({ status }) => status)).toEqual([
      "stopped",
      "stopped",
      "stopped",
      "stopped",
    ]);
    expect(await fixture.execute("pwd")).toMatchObject({ errorType: "invalid_state" });
  });
});

describe("output", () => {
  beforeEach(() => {
    fixture.shell = new Shell({ sandbox: "off", hidden: [] });
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
