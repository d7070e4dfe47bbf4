import { once } from "node:events";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ServerProcess } from "../support/processes/server-process.ts";

/** A graph with one step, whose text is `step`. */
const graph = (step: string): string => `
  import { Annotation, StateGraph } from "@langchain/langgraph";
  const State = Annotation.Root({ said: Annotation() });
  export const graph = new StateGraph(State).addNode("step", async () => { ${step} }).addEdge("__start__", "step").compile();`;
const works = graph('return { said: "hello" };');

/** Modules that misbehave while they are loaded, and why their graphs are not served. */
const notServed: Record<string, [text: string, reason: RegExp]> = {
  hangs: [
    "await new Promise(() => {}); export const graph = 1;",
    /hangs\.mjs was not loaded after 12 s.*top-level await/u,
  ],
  throws: ['throw new Error("the key of the service is missing");', /the key of the service is missing/u],
  missing: ['import "not-a-known-package"; export const graph = 1;', /Cannot find package 'not-a-known-package'/u],
  exits: ["process.exit(0);", /process\.exit\(0\) would end the server.*Throw an error/u],
  aborts: ["process.abort();", /process\.abort\(\) would end the server/u],
  moves: [
    'process.chdir("/");',
    /process\.chdir\("\/"\) would change the folder of the whole server.*import\.meta\.dirname/u,
  ],
  nothing: ["export const other = 1;", /nothing\.mjs exports other, not graph/u],
  no_graph: ['export const graph = "a graph";', /^expected a graph, got string\. Export a StateGraph/u],
  factory_throws: ['export const graph = () => { throw new Error("no graph today"); };', /no graph today/u],
  factory_hangs: ["export const graph = () => new Promise(() => {});", /factory_hangs.*was not loaded after 12 s/u],
  factory_of_nothing: ["export const graph = () => undefined;", /expected a graph, got undefined/u],
};

/** Modules that are served although they misbehave. */
const served: Record<string, string> = {
  works,
  rejects_later: `Promise.reject(new Error("a stray promise"));
    setTimeout(() => { throw new Error("thrown in a timer"); }, 1);
    setTimeout(() => process.exit(5), 1);
    ${works}`,
  listens: `import { createServer } from "node:net";
    createServer().listen(Number(process.env.PORT), "127.0.0.1");
    ${works}`,
  handles: `process.on("uncaughtException", () => process.exit(9));
    process.on("unhandledRejection", () => process.exit(9));
    process.on("SIGTERM", () => process.exit(9));
    ${works}`,
  pollutes: `globalThis.Response = class {}; globalThis.Headers = class {};
    globalThis.fetch = () => { throw new Error("no fetch here"); };
    ${works}`,
  exits_in_a_step: graph("process.exit(0);"),
  throws_after_its_step: graph(
    'setTimeout(() => { throw new Error("an error of a timer"); }, 0); return { said: "hello" };',
  ),
};

describe("modules that misbehave", () => {
  let folder: string;
  let server: ServerProcess;
  const logged = async (): Promise<Record<string, unknown>[]> => {
    const text = await readFile(server.logFile, "utf8");
    return text.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : []));
  };
  const hasLogged = async (words: string): Promise<void> => {
    await expect.poll(async () => JSON.stringify(await logged())).toContain(words);
  };
  const run = (name: string): Promise<unknown> => server.client.runs.wait(null, name, { input: {} });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-bad-"));
    await mkdir(join(folder, "workspace"));
    const modules = [...Object.entries(served), ...Object.entries(notServed).map(([name, [text]]) => [name, text])];
    for (const [name, text] of modules) await writeFile(join(folder, `${name}.mjs`), text ?? "");
    const graphs = Object.fromEntries(modules.map(([name]) => [name, `./${name}.mjs:graph`]));
    await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
    server = new ServerProcess(folder, join(folder, "workspace"));
    // Within that the others have to be loaded, one after the other, also on a busy machine.
    server.configure({ MILLRACE_GRAPHS: join(folder, "langgraph.json"), MILLRACE_LOAD_SECONDS: "12" });
    await server.start();
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it.each(Object.entries(notServed))("are named with their file and the reason: %s", async (name, [, reason]) => {
    const problem = (await logged()).find(({ msg, graph_id }) => msg === "graph_not_served" && graph_id === name);
    expect(problem).toMatchObject({ module: `./${name}.mjs:graph`, message: expect.stringMatching(reason) });
    await expect(run(name)).rejects.toThrow("HTTP 404");
  });

  it.each(["works", "rejects_later", "listens", "handles", "pollutes"])("leave the others be: %s", async (name) => {
    expect(await run(name)).toEqual({ said: "hello" });
  });

  it("are logged when they fail later, and the server goes on", async () => {
    for (const words of [
      "a stray promise",
      "thrown in a timer",
      "process.exit(5) would end the server",
      "EADDRINUSE",
    ]) {
      await hasLogged(words);
    }
    expect(await run("throws_after_its_step")).toEqual({ said: "hello" });
    await hasLogged("an error of a timer");
    expect(await run("works")).toEqual({ said: "hello" });
  });

  it("end their own run, not the server", async () => {
    await expect(run("exits_in_a_step")).rejects.toThrow(/process\.exit\(0\) would end the server/u);
    expect(await run("works")).toEqual({ said: "hello" });
  });

  it("have the global names that they have changed logged", async () => {
    const [entry] = (await logged()).filter(({ msg }) => msg === "globals_changed");
    expect(entry).toMatchObject({ changed: ["fetch"], restored: ["Headers", "Response"] });
  });

  it("do not keep the server from its own end", async () => {
    expect(await server.end("SIGTERM")).toEqual({ code: 0, signal: null });
  });
});

it("takes the port before any of them is loaded", async () => {
  const folder = await mkdtemp(join(tmpdir(), "millrace-bad-"));
  const server = new ServerProcess(folder, join(folder, "workspace"));
  const other = createServer().listen(0, "127.0.0.1");
  await once(other, "listening");
  try {
    await mkdir(join(folder, "workspace"));
    await writeFile(join(folder, "hangs.mjs"), "await new Promise(() => {});");
    await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs: { hangs: "./hangs.mjs:graph" } }));
    const address = other.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    server.configure({ MILLRACE_GRAPHS: join(folder, "langgraph.json"), PORT: `${port}` });
    await expect(server.start()).rejects.toThrow("The server ended with 1");
    expect(await readFile(server.logFile, "utf8")).toContain(`Port ${port} on 127.0.0.1 is in use`);
  } finally {
    await server.stop();
    other.close();
    await rm(folder, { recursive: true, force: true });
  }
});
