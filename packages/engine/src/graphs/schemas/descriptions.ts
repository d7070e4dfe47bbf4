import { readFileSync } from "node:fs";
import { unlessAborted } from "../../concurrency/abort.ts";
import type { LoadedGraph } from "../user-graph.ts";
import {
  channelNames,
  declaredSchemas,
  type DescribedGraph,
  fieldsOf,
  graphSchemas,
  type GraphSchemas,
  langGraphOf,
  type PartSchemas,
  type TypeSchemas,
} from "./graph-schemas.ts";

/** A graph as its module exports it. */
export interface GraphSource {
  id: string;
  path: string;
  name: string;
}

/** Types being read. `wait` resolves when they are known or it takes too long, and rejects with the signal's reason. */
export interface Reading {
  wait(id: string, signal: AbortSignal): Promise<void>;
}

/** Detects a graph with a context, which only a type may describe. */
const givesContext = /\bnew\s+StateGraph\s*(?:<[^>]*>)?\(\s*(?:[\w$.]+\s*,\s*[^)\s]|\{[^}]*\bcontext\b)/u;

/** The schemas of the graphs: from run-time declarations, from types, and from channel names. */
export class Descriptions {
  readonly #loaded: Map<string, LoadedGraph>;
  readonly #known = new Map<string, Promise<GraphSchemas>>();
  readonly #types = new Map<string, TypeSchemas>();
  #reading: Reading | undefined;

  constructor(loaded: Map<string, LoadedGraph>) {
    this.#loaded = loaded;
  }

  /** The schemas of a graph; waits for its types, as long as the reading allows. */
  async of(id: string, loaded: LoadedGraph, signal: AbortSignal): Promise<GraphSchemas> {
    await this.#reading?.wait(id, signal);
    const made = this.#known.get(id) ?? this.#describe(loaded, this.#types.get(id));
    this.#known.set(id, made);
    return await unlessAborted(made, signal);
  }

  async #describe({ graph, source }: LoadedGraph, types: TypeSchemas | undefined): Promise<GraphSchemas> {
    return graphSchemas(graph, await declared(graph, source?.path), types);
  }

  /** The schemas of a subgraph; `namespace` is its path of nodes from the outermost. */
  async ofSubgraph(id: string, namespace: string, graph: DescribedGraph, signal: AbortSignal): Promise<GraphSchemas> {
    await this.#reading?.wait(id, signal);
    const typed = typesOf(this.#types.get(id), namespace.split("|").at(-1), channelNames(graph));
    return graphSchemas(graph, await declared(graph, this.#loaded.get(id)?.source?.path), typed);
  }

  /** The graphs that only types describe in part, or those of a subgraph. */
  async untyped(): Promise<GraphSource[]> {
    const all = [...this.#loaded].map(async ([id, { graph, source }]) => {
      if (source === undefined || !/\.[cm]?[jt]sx?$/u.test(source.path)) return [];
      const declaration = await declared(graph, source.path);
      const mayGive = declaration.context === undefined && givesContext.test(readFileSync(source.path, "utf8"));
      const isDeclared = declaration.state !== undefined && !mayGive && (await areDeclared(graph, source.path));
      return isDeclared ? [] : [{ id, ...source }];
    });
    return (await Promise.all(all)).flat();
  }

  /** Requests wait for this reading from now on. */
  await(reading: Reading): void {
    this.#reading = reading;
  }

  /** Uses the types' schemas for what a graph does not declare. */
  learn(id: string, types: TypeSchemas): void {
    this.#types.set(id, types);
    this.#known.delete(id);
  }
}

/** The declarations of graphs, read at the start and again by requests; cached as long as the graph lives. */
const declarations = new WeakMap<DescribedGraph, Promise<PartSchemas>>();

function declared(graph: DescribedGraph, path: string | undefined): Promise<PartSchemas> {
  const made = declarations.get(graph) ?? declare(graph, path);
  declarations.set(graph, made);
  return made;
}

async function declare(graph: DescribedGraph, path: string | undefined): Promise<PartSchemas> {
  return declaredSchemas(graph, await langGraphOf(path ?? import.meta.filename, fieldsOf(graph)));
}

async function areDeclared(graph: LoadedGraph["graph"], path: string): Promise<boolean> {
  for await (const [, subgraph] of graph.getSubgraphsAsync(undefined, true)) {
    if ((await declared(subgraph, path)).state === undefined) return false;
  }
  return true;
}

/** Chooses by channel names: if several graphs are in nodes of the same name, the one that has them. */
function typesOf(types: TypeSchemas | undefined, node: string | undefined, channels: string[]): PartSchemas {
  const wanted = channels.toSorted().join("\0");
  const fitting = (types?.subgraphs ?? []).filter(({ state }) => {
    const properties = state?.["properties"];
    return (
      typeof properties === "object" && properties !== null && Object.keys(properties).toSorted().join("\0") === wanted
    );
  });
  return fitting.find((one) => one.node === node) ?? fitting[0] ?? {};
}
