import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { declaredSchemas, graphSchemas, langGraphOf } from "@millrace/engine/graphs/schemas/graph-schemas";
import { workflow } from "../../src/graph/workflow.ts";
import { freePort } from "@millrace/testing/free-port";
import { programEnvironment } from "../support/processes/program.ts";
import { projectFolder } from "../support/source-files.ts";

/**
 * The graph of langgraph.json under a server that is not ours (API-11). LangGraph's own development server is tried where
 * LANGGRAPH_CLI names its program (`…/node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs`, 1.5.1): it is no dependency
 * of this project. What it does with a graph is tried without it too.
 */

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "millrace-other-"));
  mkdirSync(join(folder, "workspace"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const environment = () => ({
  ...programEnvironment,
  HOME: folder,
  MILLRACE_WORKSPACE: join(folder, "workspace"),
  MILLRACE_DATA_DIR: join(folder, "data"),
  MILLRACE_LOG_LEVEL: "silent",
});
const input = { messages: [{ role: "user", content: "Create the file a.txt with the text hello" }] };

/** What such a server does: it imports what langgraph.json names, compiles it, and gives it a checkpointer of its own. */
const program = `
  import { readFileSync } from "node:fs";
  import { MemorySaver } from "@langchain/langgraph";
  const [file, name] = JSON.parse(readFileSync("langgraph.json", "utf8")).graphs.agent.split(":");
  const { [name]: builder } = await import(new URL(file, "file://" + process.cwd() + "/"));
  const graph = builder.compile();
  graph.checkpointer = new MemorySaver();
  const config = { configurable: { thread_id: "t" }, context: { mode: "free_work" } };
  const { messages } = await graph.invoke(${JSON.stringify(input)}, config);
  const state = await graph.getState(config);
  process.stdout.write(JSON.stringify({ last: messages.at(-1).text, next: state.next }));
  process.exit(0);
`;

describe("the graph of langgraph.json", () => {
  it("runs without the services of the server, with the checkpointer it is given", async () => {
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
      cwd: projectFolder,
      env: environment(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.on("data", (text) => (output += String(text)));
    await once(child, "close");
    expect(JSON.parse(output)).toEqual({ last: "I created a.txt.", next: [] });
    expect(readFileSync(join(folder, "workspace/a.txt"), "utf8")).toBe("hello");
  });

  const cli = process.env["LANGGRAPH_CLI"] ?? "";

  it.skipIf(!existsSync(cli))(
    "runs under LangGraph's own server, which returns the same input schema",
    async () => {
      // The server writes its state into the folder it is started in.
      for (const name of ["src", "node_modules"]) symlinkSync(join(projectFolder, name), join(folder, name));
      for (const name of ["package.json", "langgraph.json"]) cpSync(join(projectFolder, name), join(folder, name));
      const port = String(await freePort());
      const url = `http://127.0.0.1:${port}`;
      const options = ["dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", port];
      const server = spawn(process.execPath, [cli, ...options], {
        cwd: folder,
        env: environment(),
        stdio: "ignore",
        detached: true,
      });
      try {
        await ready(url, server);
        const body = { assistant_id: "agent", input, context: { mode: "free_work" } };
        const { messages } = z
          .looseObject({ messages: z.array(z.looseObject({ content: z.unknown() })) })
          .parse(await post(`${url}/runs/wait`, body));
        expect(messages.at(-1)?.content).toBe("I created a.txt.");
        expect(readFileSync(join(folder, "workspace/a.txt"), "utf8")).toBe("hello");
        const [assistant] = z
          .array(z.looseObject({ assistant_id: z.string() }))
          .parse(await post(`${url}/assistants/search`, {}));
        const schemas: unknown = await (await fetch(`${url}/assistants/${assistant?.assistant_id}/schemas`)).json();
        const graph = workflow.compile();
        const declared = declaredSchemas(graph, await langGraphOf(import.meta.filename, []));
        const { input_schema, state_schema } = graphSchemas(graph, declared);
        expect(schemas).toMatchObject(JSON.parse(JSON.stringify({ input_schema, state_schema })));
      } finally {
        // A group of its own: the command starts its server as a child.
        if (server.pid !== undefined) process.kill(-server.pid, "SIGKILL");
      }
    },
    90_000,
  );
});

async function post(url: string, body: object): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).json();
}

async function ready(url: string, server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 600 && server.exitCode === null; attempt += 1) {
    const isUp = await fetch(`${url}/ok`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return;
    await delay(50);
  }
  throw new Error("LangGraph's server did not come up.");
}
