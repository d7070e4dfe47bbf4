import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packAndInstall } from "../support/processes/packed.ts";
import { projectFolder } from "../support/source-files.ts";

let folder = "";
/** The empty folder that the package is installed in. */
let app = "";

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "millrace-package-"));
  app = join(folder, "app");
  const path = "packages/engine";
  await packAndInstall(folder, { name: "@millrace/engine", path, names: [path] });
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the engine as a package", () => {
  it("holds JavaScript and types, and no sources", () => {
    const installed = join(app, "node_modules", "@millrace", "engine");
    expect(readdirSync(installed).toSorted()).toEqual(["README.md", "dist", "package.json"]);
    expect(existsSync(join(installed, "dist", "server.js"))).toBe(true);
    expect(existsSync(join(installed, "dist", "server.d.ts"))).toBe(true);
    expect(existsSync(join(projectFolder, "packages/engine/package.json.kept"))).toBe(false);
  });

  it("serves a graph of an empty folder that it is installed in", { timeout: 180_000 }, async () => {
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
    let errors = "";
    child.stderr.on("data", (part) => (errors += String(part)));
    try {
      const url = await new Promise<string>((resolve, reject) => {
        child.stdout.once("data", (part) => resolve(String(part).trim()));
        void closed.then(() => reject(new Error(errors)));
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
      expect(await closed, errors).toBe(0);
    } finally {
      child.kill("SIGKILL");
      await closed;
    }
  });
});
