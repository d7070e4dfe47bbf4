import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemorySaver } from "@langchain/langgraph";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemAssistantId } from "@millrace/engine/graphs/assistants";
import { loadGraphs, type Graphs } from "@millrace/engine/graphs/load";

const module = join(import.meta.dirname, "graphs.ts");
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-graphs-"));
});
afterAll(() => rm(folder, { recursive: true }));

const assistant = { graph_id: "agent", config: {}, context: {} };

async function load(graphs: unknown, saver = new MemorySaver()): Promise<Graphs> {
  const path = join(folder, `${crypto.randomUUID()}.json`);
  await writeFile(path, typeof graphs === "string" ? graphs : JSON.stringify({ graphs, node_version: "24" }));
  return loadGraphs(path, saver);
}

describe("the graphs of a langgraph.json", () => {
  it.each(["builder", "compiled", "promised", "wrapper", "factory"])(
    "may be a %s, and use our checkpointer",
    async (name) => {
      const saver = new MemorySaver();
      const graphs = await load({ [name]: `${module}:${name}` }, saver);
      expect(graphs.problems).toEqual([]);
      const graph = graphs.get(name);
      expect(graph.checkpointer).toBe(saver);
      expect(await graph.invoke({}, { configurable: { thread_id: "t" } })).toMatchObject({ count: 1 });
      expect((await graph.getState({ configurable: { thread_id: "t" } })).values).toMatchObject({ count: 1 });
    },
  );

  it("are refused with the version that can be served, where their LangGraph is too old", async () => {
    const packageFolder = join(folder, "node_modules", "@langchain", "langgraph");
    await mkdir(packageFolder, { recursive: true });
    await writeFile(join(packageFolder, "package.json"), `{"version": "0.2.5"}`);
    // What such a version makes of a graph does not say that it is one.
    await writeFile(join(folder, "old.mjs"), "export const graph = { nodes: {}, channels: {}, invoke() {} };");
    const graphs = await load({ old: "./old.mjs:graph" });
    const [problem] = graphs.problems;
    expect(problem).toMatchObject({ graph_id: "old", module: "./old.mjs:graph" });
    expect(problem?.message).toMatch(
      /@langchain\/langgraph 0\.2\.5.*0\.2\.20 and newer.*npm install @langchain\/langgraph@/u,
    );
    expect(() => graphs.get("old")).toThrow(/0\.2\.5.*old\.mjs:graph/u);
  });

  it("may name their module as an object", async () => {
    const graphs = await load({ agent: { path: `${module}:compiled`, description: "Counts" } });
    expect(graphs.findAssistant("agent")).toMatchObject({ graph_id: "agent", description: "Counts" });
  });

  it("that fail to load are named with the reason, and the others are served", async () => {
    const graphs = await load({
      good: `${module}:compiled`,
      missing: "./nowhere.ts:graph",
      unexported: `${module}:nothing`,
      seven: `${module}:notAGraph`,
      throwing: `${module}:throwing`,
    });
    expect(graphs.ids()).toEqual(["good"]);
    const reasons = Object.fromEntries(graphs.problems.map(({ graph_id, message }) => [graph_id, message]));
    expect(reasons).toEqual({
      missing: expect.stringContaining("nowhere.ts"),
      unexported: expect.stringMatching(/exports .*compiled.*, not nothing/),
      seven: expect.stringMatching(/^expected a graph, got number\. Export a StateGraph/),
      throwing: "no key",
    });
    expect(() => graphs.get("throwing")).toThrow('Graph "throwing" not found: no key');
    expect(() => graphs.get("other")).toThrow('Graph "other" not found');
  });

  it("with the same name are both named, and the others are served", async () => {
    const two = `"agent": "${module}:compiled", "other": {"path": "${module}:builder", "description": "agent"}, "agent": "${module}:builder"`;
    const graphs = await load(`{"graphs": {${two}}}`);
    expect(graphs.ids()).toEqual(["other"]);
    expect(graphs.problems).toMatchObject([
      { graph_id: "agent", message: expect.stringMatching(/Two graphs of .*json have the name "agent"/u) },
    ]);
  });

  it("of a factory depend on the run's configuration", async () => {
    const graphs = await load({ agent: `${module}:factory` });
    expect(Object.keys(graphs.get("agent").nodes)).toContain("step");
    const mine = await graphs.ofSession("agent", { name: "mine" }, "threads.read");
    expect(Object.keys(mine.nodes)).toContain("mine");
  });

  it.each([
    ["no JSON", "{"],
    ["no graphs", "{}"],
    ["a wrong form", '{"graphs": {"agent": 7}}'],
  ])("cannot be read from a file with %s", async (_name, text) => {
    await expect(load(text)).rejects.toMatchObject({ code: "config", message: expect.stringContaining(folder) });
  });

  it("cannot be read from a missing file", async () => {
    const missing = join(folder, "none.json");
    await expect(loadGraphs(missing, new MemorySaver())).rejects.toMatchObject({
      code: "config",
      message: expect.stringContaining("none.json"),
    });
  });
});

describe("assistants", () => {
  it("have the ids every LangGraph server gives them", () => {
    expect(systemAssistantId("agent")).toBe("fe096781-5601-53d2-b2f6-0d3403f7e9ca");
  });

  it("are found by their id and by their graph's", async () => {
    const graphs = await load({ agent: `${module}:compiled` });
    const assistant = graphs.findAssistant("agent");
    expect(assistant).toMatchObject({ name: "agent", version: 1, metadata: { created_by: "system" } });
    expect(graphs.findAssistant("fe096781-5601-53d2-b2f6-0d3403f7e9ca")).toBe(assistant);
    expect(graphs.findAssistant("unknown")).toBeUndefined();
    expect(graphs.assistants()).toEqual([assistant]);
  });
});

describe("schemas", () => {
  const { signal } = new AbortController();

  it("come from the state schema and the context schema, also where a part has no JSON Schema", async () => {
    const schemas = await (await load({ agent: `${module}:compiled` })).schemas("agent", signal);
    expect(schemas).toMatchObject({
      state_schema: { properties: { messages: { langgraph_type: "messages" }, count: { type: "number" } } },
      input_schema: { properties: { messages: {}, count: {} } },
      output_schema: { properties: { messages: {}, count: {} } },
      context_schema: { properties: { model: {}, limit: { type: "number" } } },
    });
    expect(schemas.config_schema).toEqual(schemas.context_schema);
  });

  it("of a graph without runtime schemas name its channels at once", async () => {
    const schemas = await (await load({ agent: `${module}:annotated` })).schemas("agent", signal);
    expect(schemas.state_schema).toMatchObject({ properties: { messages: { langgraph_type: "messages" } } });
    expect(schemas.config_schema).toBeNull();
  });

  it("of subgraphs are found by their node", async () => {
    const schemas = await (await load({ agent: `${module}:nested` })).subgraphSchemas(assistant, { signal });
    expect(schemas).toMatchObject({ inner: { state_schema: { properties: { count: { type: "number" } } } } });
  });
});

describe("the drawing", () => {
  it("shows nodes and edges, and with xray those of subgraphs", async () => {
    const graphs = await load({ agent: `${module}:nested` });
    const names = async (xray: boolean | number): Promise<unknown[]> => {
      const { nodes } = (await graphs.drawing(assistant, xray)) as { nodes: { id: string }[] };
      return nodes.map(({ id }) => id);
    };
    expect(await names(false)).toEqual(["__start__", "inner", "__end__"]);
    expect(await names(true)).toContain("inner:step");
    expect(await names(1)).toContain("inner:step");
  });
});
