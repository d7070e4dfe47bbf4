import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectFolder } from "../support/source-files.ts";

const modules = join(projectFolder, "node_modules");
const environment = { ...process.env, PATH: `${join(modules, ".bin")}${delimiter}${process.env["PATH"] ?? ""}` };
let folder = "";
/** The empty folder that the package is installed in. */
let app = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "millrace-package-"));
  app = join(folder, "app");
  // Packed in a copy: packing rewrites the package's own manifest for a while.
  const copy = join(folder, "packages", "engine");
  for (const name of ["src", "package.json", "tsconfig.json", "pack.mjs"]) {
    cpSync(join(projectFolder, "packages/engine", name), join(copy, name), { recursive: true });
  }
  cpSync(join(projectFolder, "tsconfig.json"), join(folder, "tsconfig.json"));
  symlinkSync(modules, join(folder, "node_modules"));
  const installed = join(app, "node_modules", "@millrace", "engine");
  mkdirSync(installed, { recursive: true });
  await run("npm", ["pack", "--pack-destination", folder, "--offline"], copy);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz")) ?? "";
  await run("tar", ["-xzf", join(folder, tarball), "-C", installed, "--strip-components=1"], folder);
  // Its dependencies, as an installation would put them beside it.
  for (const name of readdirSync(modules).filter((one) => one !== "@millrace" && !one.startsWith("."))) {
    symlinkSync(join(modules, name), join(app, "node_modules", name));
  }
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program to its end. Throws with what it said where that is a failure. */
async function run(command: string, given: string[], cwd: string): Promise<void> {
  const child = spawn(command, given, { cwd, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (part) => (output += String(part)));
  child.stderr.on("data", (part) => (output += String(part)));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  if (code !== 0) throw new Error(`${command} ended with ${String(code)}: ${output}`);
}

describe("the engine as a package", () => {
  it("holds JavaScript and types, and no sources", () => {
    const installed = join(app, "node_modules", "@millrace", "engine");
    expect(readdirSync(installed).toSorted()).toEqual(["dist", "package.json"]);
    expect(existsSync(join(installed, "dist", "server.js"))).toBe(true);
    expect(existsSync(join(installed, "dist", "server.d.ts"))).toBe(true);
    expect(existsSync(join(projectFolder, "packages/engine/package.json.kept"))).toBe(false);
  });

  it("serves a graph of an empty folder that it is installed in", { timeout: 60_000 }, async () => {
    writeFileSync(join(app, "package.json"), '{ "type": "module" }');
    writeFileSync(join(app, "langgraph.json"), '{ "graphs": { "echo": "./echo.ts:graph" } }');
    writeFileSync(
      join(app, "echo.ts"),
      [
        'import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";',
        "type State = typeof MessagesAnnotation.State;",
        "export const graph = new StateGraph(MessagesAnnotation)",
        '  .addNode("echo", ({ messages }: State) => ({ messages: [{ role: "ai", content: messages.at(-1)?.text ?? "" }] }))',
        '  .addEdge("__start__", "echo")',
        "  .compile();",
      ].join("\n"),
    );
    writeFileSync(
      join(app, "main.mjs"),
      [
        'import { startServer } from "@millrace/engine";',
        'import { loadConfig } from "@millrace/engine/config/config";',
        'const server = await startServer(loadConfig({ PORT: "0", MILLRACE_LOG_LEVEL: "silent" }));',
        "console.log(server.url);",
        'process.stdin.once("data", () => server.close().then(() => process.exit(0)));',
      ].join("\n"),
    );
    const child = spawn(process.execPath, ["main.mjs"], { cwd: app, stdio: ["pipe", "pipe", "pipe"] });
    const closed = new Promise<number | null>((resolve) => child.once("close", resolve));
    let said = "";
    child.stderr.on("data", (part) => (said += String(part)));
    try {
      const url = await new Promise<string>((resolve, reject) => {
        child.stdout.once("data", (part) => resolve(String(part).trim()));
        void closed.then(() => reject(new Error(said)));
      });
      const client = new Client({ apiUrl: url });
      const { thread_id } = await client.threads.create();
      const events: string[] = [];
      const input = { messages: [{ role: "user", content: "Hello" }] };
      for await (const { event, data } of client.runs.stream(thread_id, "echo", { input, streamMode: "values" })) {
        events.push(event);
        if (event === "error") throw new Error(JSON.stringify(data));
      }
      expect(events).toContain("values");
      const { values } = await client.threads.getState<{ messages: { type: string; content: string }[] }>(thread_id);
      expect(values.messages.map(({ type, content }) => [type, content])).toEqual([
        ["human", "Hello"],
        ["ai", "Hello"],
      ]);
      child.stdin.write("close\n");
      expect(await closed, said).toBe(0);
    } finally {
      child.kill("SIGKILL");
      await closed;
    }
  });
});
