import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { CompiledGraph } from "@langchain/langgraph/web";
import { AppError } from "../errors/errors.ts";
import { withLoadLimit, isBefore, loadExport, loadLimit, placeOf, versionFor } from "../manifest/user-module.ts";
import type { JsonObject } from "../storage/records.ts";
import { checkpointerFor } from "./served-graph.ts";

/** Why a graph is requested, as LangGraph names it to factories. */
export type AccessContext = "threads.create_run" | "threads.update" | "threads.read" | "assistants.read";

/** A factory's input: the run's `config`, or the session's stored part of it. */
export interface FactoryConfig {
  configurable: JsonObject;
  context?: JsonObject;
  [key: string]: unknown;
}

/** Calls a factory for its graph; `access` is the reason. */
export type Build = (config: FactoryConfig, access: AccessContext) => Promise<CompiledGraph<string>>;

/** A graph that is served. */
export interface LoadedGraph {
  /** The graph itself; for a factory, the graph built with its defaults. */
  graph: CompiledGraph<string>;
  /** Set for a factory, which may build another graph for another configuration. */
  build: Build | undefined;
  /** Its module, whose types may describe more of its state than it declares at run time. */
  source?: { path: string; name: string };
}

function isBuilder(value: object): value is { compile(options: { checkpointer: BaseCheckpointSaver }): unknown } {
  return "compile" in value && typeof value.compile === "function";
}

function isCompiled(value: unknown): value is CompiledGraph<string> {
  return typeof value === "object" && value !== null && "lg_is_pregel" in value && value.lg_is_pregel === true;
}

/** LangChain's agents are wrappers; the graph they run is their `graph`. */
function inner(value: object): unknown {
  return "graph" in value ? value.graph : undefined;
}

const suggestion = "Export a StateGraph, compiled or not, an agent, or a function that makes one.";

/** A compiled graph, a builder or an agent, as a graph that uses our checkpointer. */
function toServed(value: unknown, checkpointer: BaseCheckpointSaver): CompiledGraph<string> {
  if (typeof value !== "object" || value === null) {
    throw new AppError("config", `expected a graph, got ${value === null ? "null" : typeof value}`, { suggestion });
  }
  if (isCompiled(inner(value))) return toServed(inner(value), checkpointer);
  if (isCompiled(value)) {
    value.checkpointer = checkpointerFor(value, checkpointer);
    return value;
  }
  if (isBuilder(value)) return toServed(value.compile({ checkpointer }), checkpointer);
  throw new AppError("config", "expected a compiled graph, a StateGraph, or a function that returns one", {
    suggestion,
  });
}

/** LangGraph's package name in users' folders. */
const langgraph = "@langchain/langgraph";
/** The first version whose graphs identify themselves as graphs. */
const firstServed = "0.2.20";

/** As `toServed`, but reports a LangGraph version that is too old. */
function toServedOf(path: string, value: unknown, checkpointer: BaseCheckpointSaver): CompiledGraph<string> {
  try {
    return toServed(value, checkpointer);
  } catch (error) {
    const version = versionFor(path, langgraph);
    if (version === undefined || !isBefore(version, firstServed)) throw error;
    const message = `${path} is made with ${langgraph} ${version}; this server runs ${firstServed} and newer.`;
    throw new AppError("config", message, { suggestion: `npm install ${langgraph}@0.2`, cause: error });
  }
}

/** Where a graph is, and what it receives. */
export interface GraphPlace {
  folder: string;
  reference: string;
  checkpointer: BaseCheckpointSaver;
  /** Milliseconds to load its module, and for each call of its factory. */
  limit?: number | undefined;
}

/**
 * Loads an entry of `langgraph.json`: a compiled graph, a builder, an agent, a promise of one, or a factory, which is
 * called once with the graph's `defaults`. Throws what the module throws, and `config` for anything else or a timeout.
 */
export async function loadUserGraph(
  { folder, reference, checkpointer, limit = loadLimit }: GraphPlace,
  defaults: FactoryConfig,
): Promise<LoadedGraph> {
  const exported = await loadExport(folder, reference, limit);
  const source = placeOf(folder, reference);
  const served = async (work: unknown): Promise<CompiledGraph<string>> =>
    toServedOf(
      source.path,
      await withLoadLimit(Promise.resolve(work), limit, `The graph of ${reference}`),
      checkpointer,
    );
  if (typeof exported !== "function") return { graph: await served(exported), build: undefined, source };
  const build: Build = async (config, access) => {
    const executionRuntime = access === "threads.create_run" ? { context: config.context ?? {} } : null;
    return await served(exported(config, { accessContext: access, executionRuntime }));
  };
  return { graph: await build(defaults, "assistants.read"), build, source };
}
