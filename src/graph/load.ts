import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { CompiledGraph } from "@langchain/langgraph/web";
import { z } from "zod";
import { AppError, errorMessage } from "../errors.ts";
import type { Assistant, JsonObject } from "../storage/records.ts";
import { systemAssistant } from "./assistants.ts";
import { graphSchemas, type GraphSchemas } from "./schemas.ts";

/** A compiled graph with the server's checkpointer. */
export type ServedGraph = CompiledGraph<string>;

/** A graph that `langgraph.json` names and that is not served, and why. */
export interface GraphProblem {
  graph_id: string;
  message: string;
}

const Spec = z.union([z.string().min(1), z.looseObject({ path: z.string().min(1) })]);
const Manifest = z.looseObject({ graphs: z.record(z.string().min(1), Spec) });

type Build = (config: { configurable: JsonObject }) => Promise<ServedGraph>;

interface Loaded {
  graph: ServedGraph;
  /** Set for a factory, which may give another graph for another configuration. */
  build: Build | undefined;
}

function isBuilder(value: object): value is { compile(options: { checkpointer: BaseCheckpointSaver }): unknown } {
  return "compile" in value && typeof value.compile === "function";
}

function isCompiled(value: unknown): value is ServedGraph {
  return typeof value === "object" && value !== null && "lg_is_pregel" in value && value.lg_is_pregel === true;
}

/** LangChain's agents are wrappers; the graph they run is their `graph`. */
function inner(value: object): unknown {
  return "graph" in value ? value.graph : undefined;
}

/** A compiled graph, a builder or an agent, as a graph that uses our checkpointer. */
function toServed(value: unknown, checkpointer: BaseCheckpointSaver): ServedGraph {
  if (typeof value !== "object" || value === null) {
    throw new AppError("config", `expected a graph, got ${value === null ? "null" : typeof value}`);
  }
  if (isCompiled(value)) {
    value.checkpointer = checkpointer;
    return value;
  }
  if (isBuilder(value)) return toServed(value.compile({ checkpointer }), checkpointer);
  if (isCompiled(inner(value))) return toServed(inner(value), checkpointer);
  throw new AppError("config", "expected a compiled graph, a StateGraph, or a function that returns one");
}

function parseSpec(spec: z.infer<typeof Spec>): { file: string; name: string } {
  const text = typeof spec === "string" ? spec : spec.path;
  const colon = text.lastIndexOf(":");
  return colon <= 0 ? { file: text, name: "default" } : { file: text.slice(0, colon), name: text.slice(colon + 1) };
}

async function loadGraph(
  folder: string,
  spec: z.infer<typeof Spec>,
  checkpointer: BaseCheckpointSaver,
): Promise<Loaded> {
  const { file, name } = parseSpec(spec);
  const path = resolve(folder, file);
  // A module's exports are whatever its author made of them; `toServed` looks.
  const module = (await import(pathToFileURL(path).href)) as Record<string, unknown>;
  if (!(name in module)) {
    const names = Object.keys(module).join(", ") || "nothing";
    throw new AppError("config", `${path} exports ${names}, not ${name}`);
  }
  const exported = module[name];
  if (typeof exported !== "function") return { graph: toServed(await exported, checkpointer), build: undefined };
  const build: Build = async (config) => toServed(await exported(config), checkpointer);
  return { graph: await build({ configurable: {} }), build };
}

/** The graphs this server offers. Asking for one that is not served throws `not_found`, with the reason when it failed to load. */
export class Graphs {
  readonly problems: readonly GraphProblem[];
  readonly #loaded: Map<string, Loaded>;
  readonly #assistants: Assistant[];
  readonly #schemas = new Map<string, GraphSchemas>();

  constructor(loaded: Map<string, Loaded>, problems: GraphProblem[]) {
    this.#loaded = loaded;
    this.problems = problems;
    const since = new Date().toISOString();
    this.#assistants = [...loaded.keys()].map((id) => systemAssistant(id, since));
  }

  ids(): string[] {
    return [...this.#loaded.keys()];
  }

  #find(id: string): Loaded {
    const found = this.#loaded.get(id);
    if (found !== undefined) return found;
    const problem = this.problems.find((candidate) => candidate.graph_id === id);
    throw new AppError("not_found", `Graph "${id}" not found${problem === undefined ? "" : `: ${problem.message}`}`, {
      suggestion: `Graphs served here: ${this.ids().join(", ") || "none"}.`,
    });
  }

  /** The graph itself; of a factory, what it makes of an empty configuration. */
  get(id: string): ServedGraph {
    return this.#find(id).graph;
  }

  /** The graph for a run; a factory is asked anew with the run's `configurable`. */
  forRun(id: string, configurable: JsonObject): ServedGraph | Promise<ServedGraph> {
    const { graph, build } = this.#find(id);
    return build === undefined ? graph : build({ configurable });
  }

  /** The assistants that the graphs have by themselves; what users made of them is in the storage. */
  assistants(): readonly Assistant[] {
    return this.#assistants;
  }

  /** One of `assistants` by its id or by its graph's id; `undefined` when there is none. */
  findAssistant(idOrGraphId: string): Assistant | undefined {
    return this.#assistants.find((one) => one.assistant_id === idOrGraphId || one.graph_id === idOrGraphId);
  }

  /** JSON Schemas of input, output, state, config and context; made once per graph. */
  schemas(id: string): GraphSchemas {
    const known = this.#schemas.get(id);
    if (known !== undefined) return known;
    const made = graphSchemas(this.get(id));
    this.#schemas.set(id, made);
    return made;
  }

  /** Schemas of the subgraphs, by their namespace (`node`, or `node|inner` with `recurse`). */
  async subgraphSchemas(id: string, namespace?: string, recurse = false): Promise<Record<string, GraphSchemas>> {
    const found: Record<string, GraphSchemas> = {};
    for await (const [name, subgraph] of this.get(id).getSubgraphsAsync(namespace, recurse)) {
      found[name] = graphSchemas(subgraph);
    }
    return found;
  }

  /** Nodes and edges as `GET /assistants/:id/graph` shows them; `xray` opens subgraphs, a number says how deep. */
  async drawing(id: string, xray: boolean | number): Promise<JsonObject> {
    const drawable = await this.get(id).getGraphAsync({ xray });
    return { ...drawable.toJSON() };
  }
}

async function readManifest(path: string): Promise<z.infer<typeof Manifest>> {
  try {
    return Manifest.parse(JSON.parse(await readFile(path, "utf8")));
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : errorMessage(error);
    throw new AppError("config", `${path} could not be read as a list of graphs: ${why}`, {
      suggestion: 'Expected {"graphs": {"name": "./file.ts:export"}}; MILLRACE_GRAPHS names the file.',
      cause: error,
    });
  }
}

/**
 * Loads every graph of a `langgraph.json`. A graph that fails is left out and listed in `problems`; a file that cannot be
 * read throws `config`.
 */
export async function loadGraphs(langgraphJsonPath: string, checkpointer: BaseCheckpointSaver): Promise<Graphs> {
  const manifest = await readManifest(langgraphJsonPath);
  const loaded = new Map<string, Loaded>();
  const problems: GraphProblem[] = [];
  for (const [id, spec] of Object.entries(manifest.graphs)) {
    try {
      loaded.set(id, await loadGraph(dirname(langgraphJsonPath), spec, checkpointer));
    } catch (error) {
      problems.push({ graph_id: id, message: errorMessage(error) });
    }
  }
  return new Graphs(loaded, problems);
}
