import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startSessions, type SessionFixture } from "../support/session-fixture.ts";
import { projectFolder } from "../support/source-files.ts";
import { programEnvironment } from "../support/processes/program.ts";

const program = join(projectFolder, "bin/millrace.cjs");
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-command-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** What a command says, and its exit code; `input` is what is piped into it. */
async function millrace(words: string[], environment: Record<string, string> = {}, input = "") {
  const env = { ...programEnvironment, HOME: folder, MILLRACE_MODEL: "offline", ...environment };
  const child = spawn(process.execPath, [program, ...words], { cwd: folder, env, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.end(input);
  let out = "";
  let error = "";
  child.stdout.on("data", (part) => (out += String(part)));
  child.stderr.on("data", (part) => (error += String(part)));
  const [code] = await once(child, "close");
  return { out, error, code };
}

describe("the command", () => {
  it("says its version, and helps with all commands and with each", async () => {
    const { version } = JSON.parse(readFileSync(join(projectFolder, "package.json"), "utf8"));
    expect(await millrace(["--version"])).toEqual({ out: `${version}\n`, error: "", code: 0 });
    const { out, code } = await millrace(["--help"]);
    expect(code).toBe(0);
    for (const name of ["start", "dev", "new", "run", "chat", "doctor", "backup", "restore", "prune", "verify"])
      expect(out).toMatch(new RegExp(`^  ${name}\\b`, "mu"));
    expect((await millrace(["help", "run"])).out).toContain("--json");
  });

  it.each([
    [["strat"], /There is no command "strat"\. Did you mean start\?/u],
    [["help", "strat"], /There is no command "strat"\. Did you mean start\?/u],
    [["start", "--prot", "1"], /unknown option '--prot'\n\(Did you mean --port\?\)/u],
    [["new"], /missing required argument 'folder'/u],
    [["chat", "too", "much"], /too many arguments/u],
  ])("says what is wrong with %j, with the exit code of a wrong usage", async (words, message) => {
    const { error, code } = await millrace(words);
    expect(error).toMatch(message);
    expect(code).toBe(64);
  });
});

describe("millrace completion", () => {
  /** What bash offers for the last word of a line. */
  async function offered(...line: string[]): Promise<string[]> {
    const { out } = await millrace(["completion", "bash"]);
    const words = ["millrace", ...line].map((word) => `'${word}'`).join(" ");
    const script = `${out}\nCOMP_WORDS=(${words}); COMP_CWORD=${line.length}; _millrace; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout, stderr } = spawnSync("bash", ["--norc", "-c", script], { encoding: "utf8" });
    expect(stderr).toBe("");
    return stdout.split("\n").filter((word) => word !== "");
  }

  it("lets bash complete commands, and the options of each", async () => {
    expect(await offered("d")).toEqual(["dev", "doctor"]);
    expect(await offered("run", "--j")).toEqual(["--json"]);
    expect(await offered("start", "--")).toEqual(["--config", "--port", "--host", "--help"]);
    expect(await offered("completion", "x")).toEqual([]);
  });

  it("has the same for zsh and fish, and refuses other shells", async () => {
    const [zsh, fish] = [(await millrace(["completion", "zsh"])).out, (await millrace(["completion", "fish"])).out];
    const { out } = await millrace(["--help"]);
    for (const [, name = ""] of out.matchAll(/^ {2}([a-z]+)\b.* {2}/gmu)) {
      expect(zsh).toContain(`'${name}:`);
      expect(fish).toContain(`-f -a ${name} -d '`);
    }
    expect(zsh).toContain("the working folder'\\''s");
    expect(fish).toContain("-n '__fish_seen_subcommand_from run' -l json -d ");
    for (const [shell, script] of [["zsh", zsh] as const, ["fish", fish] as const]) {
      const { error, stderr } = spawnSync(shell, ["-n"], { input: script, encoding: "utf8" });
      if (error === undefined) expect(stderr).toBe("");
    }
    expect(await millrace(["completion", "tcsh"])).toMatchObject({
      code: 64,
      error: expect.stringContaining("bash, zsh, fish"),
    });
  });
});

// It starts some programs; a busy machine takes its time for that.
describe("millrace new", { timeout: 180_000 }, () => {
  it("makes a project whose test is green and whose graph is served, and touches no folder that has something", async () => {
    expect((await millrace(["new", "My Graphs"])).code).toBe(0);
    const made = join(folder, "My Graphs");
    expect(JSON.parse(readFileSync(join(made, "package.json"), "utf8"))).toMatchObject({
      name: "my-graphs",
      dependencies: { millrace: `file:${projectFolder}` },
    });
    mkdirSync(join(made, "node_modules"));
    const modules = join(projectFolder, "node_modules");
    for (const name of readdirSync(modules)) symlinkSync(join(modules, name), join(made, "node_modules", name));
    symlinkSync(projectFolder, join(made, "node_modules", "millrace"));
    // As its README says, with the Node that runs this.
    const PATH = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
    const env = { ...programEnvironment, PATH };
    const tested = spawnSync("npm", ["test"], { cwd: made, encoding: "utf8", env });
    expect([tested.status, tested.stdout]).toEqual([0, expect.stringMatching(/pass 1\b/u)]);
    const again = await millrace(["new", "My Graphs"]);
    expect([again.code, again.error]).toEqual([1, expect.stringContaining("is not empty")]);

    const looked = await millrace(["doctor", "--config", "My Graphs"], { PORT: "0", MILRACE_MODEL: "x" });
    expect(looked.out).toMatch(/^ok {5}graphs +agent, counter$/mu);
    expect(looked.out).toMatch(/^note {3}configuration +MILRACE_MODEL .*did you mean MILLRACE_MODEL\?$/mu);
    expect(looked.out).toMatch(/^ok {5}model +offline/mu);
    expect(looked.code).toBe(0);
  });
});

describe("millrace doctor", () => {
  it("names a wrong value and what to do, and ends with 1", async () => {
    expect((await millrace(["new", "graphs"])).code).toBe(0);
    const { out, code } = await millrace(["doctor", "--config", "graphs"], { MILLRACE_QUEUE_LIMIT: "many" });
    expect(out).toMatch(/^WRONG {2}configuration +.*MILLRACE_QUEUE_LIMIT/msu);
    expect(out).toContain(".env.example");
    expect(code).toBe(1);
  });
});

describe("a conversation from the terminal", () => {
  let sessions: SessionFixture;
  let child: ChildProcess | undefined;
  beforeAll(async () => {
    sessions = await startSessions();
  });
  afterAll(() => sessions.close());
  afterEach(async () => {
    if (child?.exitCode === null) {
      child.kill("SIGKILL");
      await once(child, "exit");
    }
    child = undefined;
  });

  it("sends one message for a script, and says everything as lines of JSON", async () => {
    sessions.model.push({ toolCalls: [{ name: "list_files", arguments: { path: "." } }] }, { text: "Nothing there." });
    const { out, code } = await millrace(["run", "--url", sessions.server.url, "--json", "What is there?"]);
    expect(code).toBe(0);
    const printed = out
      .trim()
      .split("\n")
      .map((line): { type: string; text?: string } => JSON.parse(line));
    const types = printed.map(({ type }) => type);
    expect([...new Set(types)]).toEqual(["thread", "begun", "call", "result", "text"]);
    const texts = printed.filter(({ type }) => type === "text").map(({ text }) => text);
    expect(texts.join("")).toBe("Nothing there.");
    for (const [words, problem] of [
      [["--thread", "mine"], "answered 400: thread_id: expected a UUID"],
      [["--graph", "unknown"], "is served with --graph."],
    ] as const) {
      const refused = await millrace(["run", "--url", sessions.server.url, ...words, "Hello"]);
      expect([refused.code, refused.error]).toEqual([1, expect.stringContaining(problem)]);
    }
    const away = await millrace(["run", "--url", "http://127.0.0.1:1", "Hello"]);
    expect([away.code, away.error]).toEqual([1, expect.stringContaining("millrace start")]);
  });

  /** Starts `millrace chat` in a terminal; gives what it has shown. */
  function startChat(words: string[] = [], LANG = "C.UTF-8"): () => string {
    const command = [process.execPath, program, "chat", "--url", sessions.server.url, ...words].join(" ");
    const env = { ...programEnvironment, HOME: folder, TERM: "xterm-256color", LANG };
    child = spawn("script", ["-qfec", command, "/dev/null"], { cwd: folder, env, stdio: ["pipe", "pipe", "pipe"] });
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (part: string) => (output += part));
    return () => stripVTControlCharacters(output);
  }

  function type(text: string): void {
    child?.stdin?.write(text);
  }

  it("asks for approvals, stops by Ctrl-C, speaks Chinese and goes on with a thread later", async () => {
    const old = join(sessions.server.config.workspace, "old");
    mkdirSync(old);
    writeFileSync(join(old, "note.md"), "old");
    sessions.model.push(
      { toolCalls: [{ name: "delete_file", arguments: { path: "old" } }] },
      { text: "已经处理好了。" },
    );
    const output = startChat();
    await expect.poll(output).toMatch(/> $/u);
    type("请删除文件夹 old\r");
    await expect.poll(output).toContain("Approve? y, or why not:");
    type("y\r");
    await expect.poll(output).toContain("已经处理好了。");
    const requests = sessions.model.requests.length;
    sessions.model.push({ fault: { kind: "hang" } });
    type("Wait\r");
    await expect.poll(() => sessions.model.requests.length).toBeGreaterThan(requests);
    type("\u0003");
    await expect.poll(output).toContain("(stopped)");
    type("/quit\r");
    await expect.poll(() => child?.exitCode).toBe(0);

    const thread = /Thread (\S+) with agent\./u.exec(output())?.[1] ?? "";
    sessions.model.push({ text: "Here again." });
    const later = startChat(["--thread", thread], "zh_CN.UTF-8");
    await expect.poll(later).toMatch(/> $/u);
    type("Are you there?\r");
    await expect.poll(later).toContain("Here again.");
    expect(later()).toContain(`会话 ${thread}（agent）。`);
    const state = await sessions.server.client.threads.getState<{ messages: { content: string }[] }>(thread);
    expect(JSON.stringify(state.values.messages)).toContain("请删除文件夹 old");
  });

  it("keeps what is typed while an answer is written, for afterwards", async () => {
    const requests = sessions.model.requests.length;
    sessions.model.push({ fault: { kind: "hang" } });
    const output = startChat();
    await expect.poll(output).toMatch(/> $/u);
    type("Wait\r");
    await expect.poll(() => sessions.model.requests.length).toBeGreaterThan(requests);
    sessions.model.push({ text: "That came second." });
    type("And then?\r");
    type("\u0003");
    await expect.poll(output).toContain("That came second.");
    expect(output()).toMatch(/\(stopped\)\s+> And then\?/u);
    type("/quit\r");
    await expect.poll(() => child?.exitCode).toBe(0);
  });

  it("asks about each call that waits, and takes no line typed before as the answer", async () => {
    for (const name of ["kept", "gone"]) {
      mkdirSync(join(sessions.server.config.workspace, name));
      writeFileSync(join(sessions.server.config.workspace, name, "note.md"), name);
    }
    const calls = ["kept", "gone"].map((path) => ({ name: "delete_file", arguments: { path } }));
    sessions.model.push({ toolCalls: calls }, { text: "Done." }, { text: "Yes what?" });
    const output = startChat();
    await expect.poll(output).toMatch(/> $/u);
    type("Delete the folders kept and gone\ryes\r");
    await expect.poll(output).toContain("Approve? y, or why not:");
    type("Keep it\r");
    await expect.poll(() => output().split("Approve? y, or why not:")).toHaveLength(3);
    type("y\r");
    await expect.poll(output).toContain("Yes what?");
    expect(existsSync(join(sessions.server.config.workspace, "kept"))).toBe(true);
    expect(existsSync(join(sessions.server.config.workspace, "gone"))).toBe(false);
    type("/quit\r");
    await expect.poll(() => child?.exitCode).toBe(0);
  });

  it("says how to answer a run that waits for a person, beside what it prints", async () => {
    const old = join(sessions.server.config.workspace, "waiting");
    mkdirSync(old);
    writeFileSync(join(old, "note.md"), "old");
    sessions.model.push({ toolCalls: [{ name: "delete_file", arguments: { path: "waiting" } }] });
    const { code, out, error } = await millrace(["run", "--url", sessions.server.url, "Delete the folder waiting"]);
    expect(code).toBe(1);
    expect(out).toMatch(/\n\? Delete the folder waiting/u);
    const [, hint = "", thread = ""] =
      /^The run waits for a person\. Answer it with: (.* --thread (\S{36}))\n$/u.exec(error) ?? [];
    expect(hint).toBe(`millrace chat --url ${sessions.server.url} --graph agent --thread ${thread}`);
    // A chat whose input ends before the answer says the same.
    const chat = await millrace(hint.split(" ").slice(1), {}, "");
    expect([chat.code, chat.error]).toEqual([0, error]);
  });

  it("takes its lines from a pipe, and ends with the last", async () => {
    sessions.model.push({ text: "One." }, { text: "Two." });
    const { out, code } = await millrace(["chat", "--url", sessions.server.url], {}, "First\nSecond\n");
    expect(code).toBe(0);
    expect(out).toMatch(/One\.[^]*Two\./u);
  });
});
