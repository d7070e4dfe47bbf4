import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { MemorySaver } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AppError } from "@millrace/engine/errors/errors";
import { loadGraphs, type Graphs } from "@millrace/engine/graphs/load";
import type { ReadTypes, GraphSchemas } from "@millrace/engine/graphs/schemas/graph-schemas";
import { inferSchemas, readTypes } from "@millrace/engine/graphs/schemas/infer-schemas";
import { createLogger } from "@millrace/engine/logger";
import { projectFolder } from "../support/source-files.ts";

const fixtures = join(import.meta.dirname, "..", "fixtures", "graphs");
const logger = createLogger("silent");
const { signal } = new AbortController();

let folder: string;
let cache: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-types-"));
  cache = join(folder, "cache");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function load(graphs: Record<string, string>): Promise<Graphs> {
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  return await loadGraphs(join(folder, "langgraph.json"), new MemorySaver());
}

/** Writes modules and settings, by their paths in the folder. */
async function write(files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
}

/** The text of a module whose graph has `Annotation.Root` of these fields as its state. */
function graphOf(fields: string, before = ""): string {
  return `import { Annotation, START, StateGraph } from "@langchain/langgraph";
${before}
const State = Annotation.Root({ ${fields} });
export const graph = new StateGraph(State).addNode("work", () => ({})).addEdge(START, "work").compile();
`;
}

/** What the types of graphs of the folder say of their states' fields. */
async function fieldsOf(...paths: string[]): Promise<unknown[]> {
  const graphs = await load(Object.fromEntries(paths.map((path) => [path, `./${path}:graph`])));
  expect(graphs.problems).toEqual([]);
  // On a busy machine the compiler takes longer than a client would be kept waiting.
  const learning = inferSchemas({ graphs, folder, cache, logger, wait: 60_000 });
  const schemas = await Promise.all(paths.map((path) => graphs.schemas(path, signal)));
  await learning.stop();
  return schemas.map(({ state_schema }) => (state_schema as { properties: unknown }).properties);
}

/** The same of several graphs by their paths, asked of the compiler itself, once for all of them. */
async function typedFields(paths: string[]): Promise<unknown[]> {
  await mkdir(cache, { recursive: true });
  const sources = paths.map((path) => ({ id: path, path: join(folder, path), name: "graph" }));
  const found = await readTypes(sources, { folder, scratch: cache, signal });
  return paths.map((path) => found.get(path)?.state?.["properties"]);
}

const two = { annotation: join(fixtures, "annotation.ts:graph"), zod: join(fixtures, "zod-state.ts:graph") };
const names = { properties: { topic: {}, scores: {} } };

describe("a request that comes before the types are read", () => {
  const types: ReadTypes = {
    state: { type: "object", properties: { topic: { type: "string" } } },
    subgraphs: [],
    files: [],
  };

  it("waits for them, while requests for other graphs are answered", async () => {
    const graphs = await load(two);
    const asked = Promise.withResolvers<string[]>();
    const result = Promise.withResolvers<Map<string, ReadTypes>>();
    const learning = inferSchemas({
      graphs,
      folder,
      cache,
      logger,
      read: (sources) => {
        asked.resolve(sources.map(({ id }) => id));
        return result.promise;
      },
    });
    const answers: string[] = [];
    const waiting = graphs.schemas("annotation", signal).then((schemas): GraphSchemas => {
      answers.push("annotation");
      return schemas;
    });
    expect(await asked.promise).toEqual(["annotation"]);
    expect(await graphs.schemas("zod", signal)).toMatchObject({
      state_schema: {
        properties: { messages: { langgraph_type: "messages" }, level: { enum: ["easy", "hard"], default: "easy" } },
      },
    });
    expect(answers).toEqual([]);
    result.resolve(new Map([["annotation", types]]));
    expect(await waiting).toMatchObject({ state_schema: { properties: { topic: { type: "string" } } } });
    await learning.done;
  });

  it("lets the reading begin, which otherwise waits until the start is over", async () => {
    const graphs = await load(two);
    const read: string[][] = [];
    const learning = inferSchemas({
      graphs,
      folder,
      cache,
      logger,
      delay: 3_600_000,
      read: async (sources) => {
        read.push(sources.map(({ id }) => id));
        return await Promise.resolve(new Map([["annotation", types]]));
      },
    });
    // This graph says all itself; a reading that it began would be there after so many turns.
    await graphs.schemas("zod", signal);
    for (let turn = 0; turn < 50; turn += 1) await readdir(folder);
    expect(read).toEqual([]);
    expect(await graphs.schemas("annotation", signal)).toMatchObject({ state_schema: types.state });
    expect(read).toEqual([["annotation"]]);
    await learning.done;
  });

  it("ends with its client, and is answered with the names of the channels when it has waited long enough", async () => {
    const lines: { msg: string; graph_id?: string }[] = [];
    const log = createLogger("info", { write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]) });
    const graphs = await load(two);
    const asked = Promise.withResolvers<void>();
    const result = Promise.withResolvers<Map<string, ReadTypes>>();
    const learning = inferSchemas({
      graphs,
      folder,
      cache,
      logger: log,
      wait: 1,
      read: () => {
        asked.resolve();
        return result.promise;
      },
    });
    await asked.promise;
    const gone = new AbortController();
    const left = graphs.schemas("annotation", gone.signal);
    gone.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    expect(await graphs.schemas("annotation", signal)).toMatchObject({ state_schema: names, context_schema: null });
    expect(await graphs.schemas("annotation", signal)).toMatchObject({ state_schema: names });
    expect(lines).toMatchObject([{ msg: "schemas_not_read_in_time", graph_id: "annotation" }]);
    result.reject(new AppError("execution_failed", "There is no compiler."));
    await learning.done;
    expect(await graphs.schemas("annotation", signal)).toMatchObject({ state_schema: names });
    expect(lines[1]).toMatchObject({ msg: "schemas_not_read_from_types", reason: "There is no compiler." });
  });

  it("is answered with the names when the reading is stopped, which leaves nothing behind", async () => {
    const graphs = await load(two);
    const learning = inferSchemas({ graphs, folder, cache, logger });
    const waiting = graphs.schemas("annotation", signal);
    await learning.stop();
    expect(await waiting).toMatchObject({ state_schema: names });
    expect(await readdir(cache).catch(() => [])).toEqual([]);
  });
});

describe("what types say", () => {
  it("counts where they name something, and never more than what is declared", async () => {
    const graphs = await load(two);
    const learning = inferSchemas({
      graphs,
      folder,
      cache,
      logger,
      read: async () => {
        await Promise.resolve();
        const nothing = { type: "object", additionalProperties: {} };
        return new Map([
          ["annotation", { state: nothing, input: {}, output: nothing, context: {}, subgraphs: [], files: [] }],
        ]);
      },
    });
    await learning.done;
    expect(await graphs.schemas("annotation", signal)).toMatchObject({
      state_schema: names,
      input_schema: names,
      output_schema: names,
      context_schema: null,
    });
  });

  it("is kept until a source changes, of the graph or one that it imports, by whatever name", async () => {
    const graph = graphOf("topic: Annotation<Topic>()", `import type { Topic } from "@/topic";`);
    for (const name of ["one", "two"]) {
      await write({
        [`${name}/tsconfig.json`]: `{ "compilerOptions": { "paths": { "@/*": ["./lib/*"] } } }`,
        [`${name}/graph.ts`]: graph,
        [`${name}/lib/topic.ts`]: "export type Topic = string;\n",
      });
    }
    const fields = (): Promise<unknown[]> => fieldsOf("one/graph.ts", "two/graph.ts");
    expect(await fields()).toEqual([{ topic: { type: "string" } }, { topic: { type: "string" } }]);
    // What stands in the cache is what is returned, so nothing was compiled.
    for (const name of await readdir(cache)) {
      const kept = await readFile(join(cache, name), "utf8");
      await writeFile(join(cache, name), kept.replaceAll('"topic":{"type":"string"}', '"topic":{"type":"kept"}'));
    }
    expect(await fields()).toEqual([{ topic: { type: "kept" } }, { topic: { type: "kept" } }]);
    await write({
      "one/lib/topic.ts": `export type Topic = "sea" | "land";\n`,
      "two/tsconfig.json": `{ "compilerOptions": { "paths": { "@/*": ["./other/*"] } } }`,
      "two/other/topic.ts": "export type Topic = number;\n",
    });
    expect(await fields()).toEqual([
      { topic: { type: "string", enum: ["land", "sea"] } },
      { topic: { type: "number" } },
    ]);
  });

  it("is found by the aliases of a tsconfig.json, whatever else that asks for or gets wrong, and in spite of what the compiler complains of", async () => {
    const wrong = {
      extends_nothing: `{ "extends": "./nowhere.json" }`,
      extends_itself: `{ "extends": "./tsconfig.json" }`,
      no_json: `{ "compilerOptions": `,
    };
    const complaining = graphOf(
      "kind: Annotation<Kind>(), odd: Annotation<NotThere>()",
      `enum Kind { one = "1", two = "2" }`,
    );
    for (const [name, text] of Object.entries(wrong)) {
      await write({ [`${name}/tsconfig.json`]: text, [`${name}/graph.ts`]: complaining });
    }
    const height = "/** Of trees. */\nexport type Height = number;\n";
    await write({
      "paths/settings/base.json": `{ "compilerOptions": { "paths": { "@/*": ["../src/lib/*"] } } } // everyone's`,
      "paths/tsconfig.json": `{
        "extends": "./settings/base.json",
        "compilerOptions": { "moduleResolution": "node", "target": "es5", "noSuchOption": 1, },
      }`,
      "paths/src/lib/state.ts": height,
      "paths/src/graph.ts": graphOf("height: Annotation<Height>()", `import type { Height } from "@/state";`),
      "base/tsconfig.json": `{ "compilerOptions": { "baseUrl": "./src" } }`,
      "base/src/lib/state.ts": height,
      "base/src/graph.ts": graphOf("height: Annotation<Height[]>()", `import type { Height } from "lib/state";`),
    });
    const paths = Object.keys(wrong).map((name) => `${name}/graph.ts`);
    const found = { kind: { type: "string", enum: ["1", "2"] }, odd: {} };
    expect(await typedFields([...paths, "paths/src/graph.ts", "base/src/graph.ts"])).toEqual([
      found,
      found,
      found,
      { height: { type: "number" } },
      { height: { type: "array", items: { type: "number" } } },
    ]);
  });

  it("is read by a process that ends with the one that asked", async () => {
    const work = await mkdtemp(join(folder, "work-"));
    const job = { work, graphs: [{ path: join(fixtures, "annotation.ts"), name: "graph" }] };
    await writeFile(join(work, "job.json"), JSON.stringify(job));
    const reader = join(projectFolder, "packages/engine/src/graphs/schemas/type-reader.ts");
    const child = spawn(process.execPath, [reader, join(work, "job.json"), join(work, "answer.json")], {
      env: {},
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    child.stdin.end();
    expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
    expect(await readdir(work)).not.toContain("answer.json");
  });

  it("is of an agent what its own types say, without what LangGraph needs for itself", async () => {
    await mkdir(cache, { recursive: true });
    const source = { id: "agent", path: join(fixtures, "deep-agent.mjs"), name: "agent" };
    const { state, context } = (await readTypes([source], { folder, scratch: cache, signal })).get("agent") ?? {};
    expect(state?.["properties"]).toMatchObject({ messages: { langgraph_type: "messages" } });
    expect(state?.["properties"]).not.toHaveProperty("__interrupt__");
    expect(context).toBeUndefined();
  });

  it("has the extras that were registered with a folder's own copy of LangGraph", async () => {
    const packages = join(folder, "node_modules");
    await mkdir(join(packages, "@langchain"), { recursive: true });
    const own = join(projectFolder, "node_modules");
    // A copy of its own of LangGraph alone: what it needs is the same wherever it lies.
    await cp(join(own, "@langchain", "langgraph"), join(packages, "@langchain", "langgraph"), { recursive: true });
    for (const name of ["core", "langgraph-sdk", "langgraph-checkpoint", "protocol"]) {
      await symlink(join(own, "@langchain", name), join(packages, "@langchain", name), "dir");
    }
    for (const name of ["zod", "@standard-schema"]) await symlink(join(own, name), join(packages, name), "dir");
    await cp(join(fixtures, "described-zod3.mjs"), join(folder, "graph.mjs"));
    await cp(join(fixtures, "described-zod3.mjs"), join(folder, "common.cjs"));
    const text = await readFile(join(folder, "common.cjs"), "utf8");
    const common = text
      .replaceAll(/import (.*) from (".*");/gu, "const $1 = require($2);")
      .replaceAll("export const", "const")
      .concat("module.exports = { graph };\n");
    await writeFile(join(folder, "common.cjs"), common);
    const messages = { messages: { langgraph_type: "messages" } };
    expect(await fieldsOf("graph.mjs", "common.cjs")).toMatchObject([messages, messages]);
  });
});
