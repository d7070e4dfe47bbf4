import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MemorySaver } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { learnSchemas } from "../../src/graph/learn-schemas.ts";
import { loadGraphs, type Graphs } from "../../src/graph/load.ts";
import { createLogger } from "../../src/logger.ts";

const fixtures = join(import.meta.dirname, "..", "fixtures", "graphs");
const logger = createLogger("silent");

let folder: string;
let cache: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-types-"));
  cache = join(folder, "cache");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The fixtures' graphs, of which some have a state that only their types describe. */
async function load(where = fixtures): Promise<Graphs> {
  const graphs = {
    annotation: join(where, "annotation.ts:graph"),
    nested: join(where, "nested.ts:graph"),
    zod: join(where, "zod-state.ts:graph"),
    javascript: join(where, "plain.cjs:graph"),
  };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  return await loadGraphs(join(folder, "langgraph.json"), new MemorySaver());
}

const typed = {
  state_schema: {
    type: "object",
    properties: {
      messages: { type: "array", items: { type: "object" }, langgraph_type: "messages" },
      topic: { type: "string" },
      scores: { type: "array", items: { type: "number" } },
      mode: { enum: expect.arrayContaining(["short", "long"]) },
    },
    required: expect.arrayContaining(["messages", "topic", "scores"]),
  },
  input_schema: {
    properties: {
      messages: { langgraph_type: "messages" },
      topic: { type: "string" },
      scores: { type: "array", items: { type: "number" } },
    },
  },
  config_schema: null,
};

describe("a state that only types describe", () => {
  it("has its channels' names at once, and its types when they were read", async () => {
    const graphs = await load();
    expect(graphs.untyped().map(({ id }) => id)).toEqual(["annotation", "nested"]);
    expect(graphs.schemas("annotation").state_schema).toMatchObject({ properties: { topic: {}, scores: {} } });
    const zod = graphs.schemas("zod");
    expect(zod.state_schema).toMatchObject({
      properties: { messages: { langgraph_type: "messages" }, level: { enum: ["easy", "hard"], default: "easy" } },
    });
    await learnSchemas({ graphs, folder: fixtures, cache, logger }).done;
    expect(graphs.schemas("annotation")).toMatchObject(typed);
    expect(graphs.schemas("annotation").input_schema).not.toHaveProperty("required");
    expect(graphs.schemas("nested").output_schema).toMatchObject({
      properties: { path: { type: "array", items: { type: "string" } } },
    });
    expect(graphs.schemas("zod")).toBe(zod);
  });

  it("is read from the cache until a source changes, of its own or one that it imports", async () => {
    const where = join(folder, "graphs");
    await cp(fixtures, where, { recursive: true });
    const state = join(where, "annotation.ts");
    await writeFile(join(where, "topic.ts"), "export type Topic = string;\n");
    const text = await readFile(state, "utf8");
    const before = `import type { Topic } from "./topic.js";\n${text.replace("Annotation<string>", "Annotation<Topic>")}`;
    await writeFile(state, before);
    const learn = async (): Promise<Graphs> => {
      const graphs = await load(where);
      await learnSchemas({ graphs, folder: where, cache, logger }).done;
      return graphs;
    };
    expect((await learn()).schemas("annotation")).toMatchObject(typed);
    // What stands in the cache is what is told, so nothing was compiled.
    for (const name of await readdir(cache)) {
      const kept = await readFile(join(cache, name), "utf8");
      await writeFile(join(cache, name), kept.replaceAll('"topic":{"type":"string"}', '"topic":{"type":"kept"}'));
    }
    expect((await learn()).schemas("annotation").state_schema).toMatchObject({
      properties: { topic: { type: "kept" } },
    });
    await writeFile(join(where, "topic.ts"), `export type Topic = "sea" | "land";\n`);
    expect((await learn()).schemas("annotation").state_schema).toMatchObject({
      properties: { topic: { enum: expect.arrayContaining(["sea", "land"]) } },
    });
  });

  it("keeps its channels' names when the reading is stopped, and leaves nothing behind", async () => {
    const graphs = await load();
    const learning = learnSchemas({ graphs, folder: fixtures, cache, logger });
    await learning.stop();
    expect(graphs.schemas("annotation").state_schema).toMatchObject({ properties: { topic: {} } });
    expect(await readdir(cache)).toEqual([]);
  });
});
