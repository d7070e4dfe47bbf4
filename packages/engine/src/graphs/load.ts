import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { StateSnapshot } from "@langchain/langgraph";
import { AppError } from "../errors/errors.ts";
import { applyEnvironment, type GraphDefaults, noDefaults, readGraphDefaults } from "../manifest/custom-parts.ts";
import { readManifest } from "../manifest/manifest.ts";
import { versionFor } from "../manifest/user-module.ts";
import { loadProblem, openUserModules } from "../module-loading/hooks.ts";
import { type Assistant, JsonObject, type Run } from "../storage/records.ts";
import { systemAssistant } from "./assistants.ts";
import type { GraphExtension, ServedGraph, StatePlace } from "./served-graph.ts";
import { graphVersion } from "./changed-graph.ts";
import { Descriptions, type GraphSource, type Reading } from "./schemas/descriptions.ts";
import type { GraphSchemas, TypeSchemas } from "./schemas/graph-schemas.ts";
import { type AccessContext, type LoadedGraph, loadUserGraph } from "./user-graph.ts";
import type { Storage } from "../storage/storage.ts";

const noNodes: ReadonlySet<string> = new Set();

/** A graph of `langgraph.json` that is not served, and why; `module` is as written there. */
export interface GraphProblem {
  graph_id: string;
  module: string;
  message: string;
}

/** The fields of a run that its graph depends on. */
type RunOfGraph = Pick<Run, "graph_id" | "session_id" | "run_id" | "assistant_id" | "kwargs">;

/** The fields of an assistant that its graph depends on. */
type OfAssistant = Pick<Assistant, "graph_id" | "config" | "context">;

/** The graphs this server offers. Requesting another one throws `not_found`, with the reason if it failed to load. */
export class Graphs {
  readonly problems: readonly GraphProblem[];
  /** The hash of each graph's shape; none for a factory, whose graphs may differ per run. */
  readonly versions: ReadonlyMap<string, string>;
  readonly #extension: GraphExtension | undefined;
  readonly #loaded: Map<string, LoadedGraph>;
  #assistants: Assistant[];
  readonly #defaults: Record<string, GraphDefaults | undefined>;
  readonly #withLoop = new WeakMap<ServedGraph, boolean>();
  readonly #descriptions: Descriptions;

  constructor(
    loaded: Map<string, LoadedGraph>,
    problems: GraphProblem[],
    defaults: Record<string, GraphDefaults | undefined> = {},
    extension?: GraphExtension,
  ) {
    this.#extension = extension;
    this.#loaded = loaded;
    this.#descriptions = new Descriptions(loaded);
    this.problems = problems;
    const fixed = [...loaded].filter(([, { build }]) => build === undefined);
    this.versions = new Map(fixed.map(([id, { graph }]) => [id, graphVersion(graph)]));
    this.#defaults = defaults;
    this.#assistants = this.#assistantsSince(new Map());
  }

  #assistantsSince(since: ReadonlyMap<string, string>): Assistant[] {
    const now = new Date().toISOString();
    return this.ids().map((id) => systemAssistant(id, since.get(id) ?? now, this.#defaults[id]));
  }

  /** Since when (ISO date) graphs are served, by whichever server: so old are their assistants. Default since the start. */
  knownSince(since: ReadonlyMap<string, string>): void {
    this.#assistants = this.#assistantsSince(since);
  }

  /** The nodes of a graph that call the agent's loop; none in foreign graphs. */
  loopNodes(graph: ServedGraph): ReadonlySet<string> {
    return this.#extension?.loopNodes(graph) ?? noNodes;
  }

  /** Whether a graph calls the agent's loop. */
  hasLoop(graph: ServedGraph): boolean {
    let has = this.#withLoop.get(graph);
    if (has === undefined) this.#withLoop.set(graph, (has = this.loopNodes(graph).size > 0));
    return has;
  }

  /** A state as readers see it; see `GraphExtension`. */
  async shownState(state: StateSnapshot, place: StatePlace): Promise<StateSnapshot> {
    return (await this.#extension?.shownState(state, place)) ?? state;
  }

  /** The values of an idle session as readers see them; see `GraphExtension`. */
  async shownValues<Values>(
    values: Values,
    interrupts: Readonly<Record<string, unknown>>,
    place: StatePlace,
  ): Promise<Values> {
    return this.#extension === undefined ? values : await this.#extension.shownValues(values, interrupts, place);
  }

  ids(): string[] {
    return [...this.#loaded.keys()];
  }

  #find(id: string): LoadedGraph {
    const found = this.#loaded.get(id);
    if (found !== undefined) return found;
    const problem = this.problems.find((candidate) => candidate.graph_id === id);
    throw new AppError(
      "not_found",
      `Graph "${id}" not found${problem === undefined ? "" : `: ${problem.message} (${problem.module})`}`,
      {
        suggestion: `Graphs served here: ${this.ids().join(", ") || "none"}.`,
      },
    );
  }

  /** The graph itself; for a factory, the graph built with its defaults. */
  get(id: string): ServedGraph {
    return this.#find(id).graph;
  }

  /** The graph itself; `undefined` for a factory, whose graphs may differ per run. */
  fixed(id: string): ServedGraph | undefined {
    const { graph, build } = this.#find(id);
    return build === undefined ? graph : undefined;
  }

  /** The version of LangGraph in the graph's folder; `undefined` if it has none of its own. */
  langgraphOf(id: string): string | undefined {
    const { source } = this.#find(id);
    return source === undefined ? undefined : versionFor(source.path, "@langchain/langgraph");
  }

  /** The graph to read or change a session's state; a factory gets the session's stored configuration. */
  ofSession(
    id: string,
    configurable: JsonObject,
    access: "threads.read" | "threads.update",
  ): ServedGraph | Promise<ServedGraph> {
    const { graph, build } = this.#find(id);
    return build === undefined ? graph : build({ configurable }, access);
  }

  /** The graph of an assistant; a factory gets the assistant's `config` and `context`. */
  #ofAssistant({ graph_id, config, context }: OfAssistant): ServedGraph | Promise<ServedGraph> {
    const { graph, build } = this.#find(graph_id);
    if (build === undefined) return graph;
    const configurable = JsonObject.safeParse(config["configurable"]).data ?? {};
    return build({ ...config, configurable, context }, "assistants.read");
  }

  /** The graph to run, or to read or change a run's state; a factory gets the run's `config` and `context`. */
  ofRun(run: RunOfGraph, access: AccessContext): ServedGraph | Promise<ServedGraph> {
    const { graph, build } = this.#find(run.graph_id);
    if (build === undefined) return graph;
    const { config, context } = run.kwargs;
    const { session_id: thread_id, run_id, assistant_id, graph_id } = run;
    const configurable = {
      ...JsonObject.safeParse(config["configurable"]).data,
      thread_id,
      run_id,
      assistant_id,
      graph_id,
    };
    return build({ ...config, configurable, context }, access);
  }

  /** The default assistants of the graphs; users' assistants are in the storage. */
  assistants(): readonly Assistant[] {
    return this.#assistants;
  }

  /** One of `assistants` by its id or its graph's id; `undefined` if there is none. */
  findAssistant(idOrGraphId: string): Assistant | undefined {
    return this.#assistants.find((one) => one.assistant_id === idOrGraphId || one.graph_id === idOrGraphId);
  }

  /**
   * JSON Schemas of input, output, state, config and context. Waits a short while if the graph's types are still being
   * read.
   */
  async schemas(id: string, signal: AbortSignal): Promise<GraphSchemas> {
    return await this.#descriptions.of(id, this.#find(id), signal);
  }

  /** The graphs whose types describe more than they declare at run time. */
  async untyped(): Promise<GraphSource[]> {
    return await this.#descriptions.untyped();
  }

  /** Schema requests wait for this reading from now on. */
  await(reading: Reading): void {
    this.#descriptions.await(reading);
  }

  /** Uses the types' schemas for what a graph does not declare. */
  learn(id: string, types: TypeSchemas): void {
    this.#descriptions.learn(id, types);
  }

  /** Schemas of the subgraphs, by their namespace (`node`, or `node|inner` with `recurse`). */
  async subgraphSchemas(
    assistant: OfAssistant,
    {
      namespace,
      recurse = false,
      signal,
    }: { namespace?: string | undefined; recurse?: boolean | undefined; signal: AbortSignal },
  ): Promise<Record<string, GraphSchemas>> {
    const found: Record<string, GraphSchemas> = {};
    const graph = await this.#ofAssistant(assistant);
    for await (const [name, subgraph] of graph.getSubgraphsAsync(namespace, recurse)) {
      found[name] = await this.#descriptions.ofSubgraph(assistant.graph_id, name, subgraph, signal);
    }
    return found;
  }

  /**
   * Nodes and edges as `GET /assistants/:id/graph` returns them; `xray` expands subgraphs, a number limits the depth.
   */
  async drawing(assistant: OfAssistant, xray: boolean | number): Promise<JsonObject> {
    const graph = await this.#ofAssistant(assistant);
    const drawable = await graph.getGraphAsync({ xray });
    return { ...drawable.toJSON() };
  }
}

/**
 * Loads every graph of a `langgraph.json`, with its `env` set; each may take `limit` milliseconds. A failing graph is
 * skipped and listed in `problems`; an unreadable file throws `config`.
 */
export async function loadGraphs(
  langgraphJsonPath: string,
  checkpointer: BaseCheckpointSaver,
  limit?: number,
  extension?: GraphExtension,
): Promise<Graphs> {
  const manifest = await readManifest(langgraphJsonPath);
  await applyEnvironment(manifest);
  const defaults = readGraphDefaults();
  const { folder } = manifest;
  openUserModules(folder);
  const attempts = Object.entries(manifest.graphs).map(async ([id, { reference }]) => {
    const { config, context } = defaults[id] ?? noDefaults;
    const given = { ...config, configurable: JsonObject.safeParse(config["configurable"]).data ?? {}, context };
    try {
      if (manifest.repeated.has(id))
        throw new AppError("config", `Two graphs of ${manifest.path} have the name "${id}"`);
      return { id, reference, loaded: await loadUserGraph({ folder, reference, checkpointer, limit }, given) };
    } catch (error) {
      return { id, reference, message: loadProblem(error) };
    }
  });
  const loaded = new Map<string, LoadedGraph>();
  const problems: GraphProblem[] = [];
  // In the file's order, whichever was ready first.
  for (const { id, reference, loaded: graph, message = "" } of await Promise.all(attempts)) {
    if (graph === undefined) problems.push({ graph_id: id, module: reference, message });
    else loaded.set(id, graph);
  }
  const described = Object.entries(manifest.graphs).map(([id, { description }]): [string, GraphDefaults] => [
    id,
    { ...(defaults[id] ?? noDefaults), description },
  ]);
  return new Graphs(loaded, problems, Object.fromEntries(described), extension);
}

/**
 * An assistant by its id or its graph's id: as changed by users, else the graph's default. `undefined` if there is
 * none.
 */
export async function findAssistant(
  { assistants }: { assistants: Pick<Storage["assistants"], "get"> },
  graphs: Pick<Graphs, "findAssistant">,
  idOrGraphId: string,
): Promise<Assistant | undefined> {
  const own = graphs.findAssistant(idOrGraphId);
  return (await assistants.get(own?.assistant_id ?? idOrGraphId)) ?? own;
}
