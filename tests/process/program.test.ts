import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { unknownVariables } from "@millrace/engine/config/operation-settings";
import { variableNames } from "@millrace/engine/config/config";
import { projectFolder } from "../support/source-files.ts";
import { programEnvironment } from "../support/processes/program.ts";

let folder: string;
let child: ChildProcess | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-program-"));
  await mkdir(join(folder, "workspace"));
  const graph = join(projectFolder, "tests/support/test-graphs.ts");
  const graphs = { counter: `${graph}:counter`, gated: `${graph}:gated` };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
});
afterEach(async () => {
  if (child?.exitCode === null && child.signalCode === null) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  child = undefined;
  await rm(folder, { recursive: true, force: true });
});

/** Starts the program with these variables, within a terminal or not, and returns its output so far. */
function start(environment: Record<string, string>, isTerminal = false): () => string {
  const words = [process.execPath, join(projectFolder, "bin/millrace.cjs"), "start"];
  const [command = "", ...args] = isTerminal ? ["script", "-qfec", words.join(" "), "/dev/null"] : words;
  const env = { ...programEnvironment, HOME: folder, PORT: "0", MILLRACE_MODEL: "offline", TERM: "xterm-256color" };
  child = spawn(command, args, { cwd: folder, env: { ...env, ...environment }, stdio: ["pipe", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (part) => (output += String(part)));
  return () => output;
}

/** A start may take its time on a busy machine. */
const patience = { timeout: 50_000 };

const url = /http:\/\/127\.0\.0\.1:\d+/u;

it.each([
  ["with colours", {}, true],
  ["without them where NO_COLOR is set", { NO_COLOR: "1" }, false],
])("speaks to people in a terminal, %s", async (_, environment: Record<string, string>, hasColours) => {
  const output = start({ ...environment, MILLRACE_CONSOLE: "on", MILRACE_MODEL: "x" }, true);
  await expect.poll(output, patience).toContain("Ctrl-C stops it.");
  const plain = stripVTControlCharacters(output());
  expect(plain === output()).toBe(!hasColours);
  expect(plain).toMatch(/WARN.*unknown_variable .*MILRACE_MODEL.*did you mean MILLRACE_MODEL\?/u);
  const address = url.exec(plain)?.[0] ?? "";
  // What the server logs afterwards, such as what it watches, comes behind the last line.
  const rows = plain
    .slice(plain.indexOf("Millrace listens on"), plain.indexOf("Ctrl-C stops it.") + "Ctrl-C stops it.".length)
    .split("\n")
    .map((line) => line.trim());
  expect(rows.filter((row) => row !== "")).toEqual([
    `Millrace listens on ${address}`,
    `api       ${address}`,
    `console   ${address}/console/`,
    "model     offline (MILLRACE_MODEL says so)",
    `graphs    counter, gated  (${join(folder, "langgraph.json")})`,
    `data      ${join(folder, ".millrace/data")}`,
    `workspace ${join(folder, ".millrace/workspace")}`,
    "Ctrl-C stops it.",
  ]);
  // As a terminal sends Ctrl-C.
  child?.stdin?.write("\u0003");
  await expect.poll(output).toContain("Stopping.");
});

it("takes two signals at once for one, finishes what runs, and stops at once when asked again", async () => {
  const output = start({ MILLRACE_DRAIN_SECONDS: "60" });
  await expect.poll(output, patience).toContain('"msg":"listening"');
  const address = url.exec(output())?.[0] ?? "";
  const body = JSON.stringify({ assistant_id: "gated", input: { door: "never opened" } });
  const headers = { "content-type": "application/json" };
  await fetch(`${address}/runs`, { method: "POST", headers, body });
  const signal = () => process.kill(child?.pid ?? 0, "SIGINT");
  signal();
  signal();
  await expect.poll(output).toContain('"msg":"stopping"');
  expect(output()).toMatch(/"walking":1,"drain_seconds":60,"msg":"stopping"/u);
  await expect
    .poll(async () => (await fetch(`${address}/health/ready`)).json())
    .toEqual({ status: "not_ready", reasons: ["The server is stopping."] });
  expect(child?.exitCode).toBe(null);
  await expect
    .poll(() => {
      if (child?.exitCode === null) signal();
      return child?.exitCode;
    })
    .toBe(1);
});

it.each([
  [["MILLRACE_MODLE"], [{ name: "MILLRACE_MODLE", nearest: "MILLRACE_MODEL" }]],
  [["MILRACE_API_KEY"], [{ name: "MILRACE_API_KEY", nearest: "MILLRACE_API_KEYS" }]],
  [["MILLRACE_HOST"], [{ name: "MILLRACE_HOST", nearest: "HOST" }]],
  [["MILLRACE_SOMETHING_OF_MY_OWN"], [{ name: "MILLRACE_SOMETHING_OF_MY_OWN", nearest: undefined }]],
  [["MILLRACE_MODEL", "PATH", "MILLER_TIME", "OPENAI_KEY"], []],
])("of the variables %j these are reported: %j", (names, expected) => {
  const env = Object.fromEntries(names.map((name) => [name, "x"]));
  expect(unknownVariables(env, variableNames)).toEqual(expected);
});
