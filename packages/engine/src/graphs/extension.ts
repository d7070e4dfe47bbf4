import type { CompiledGraph } from "@langchain/langgraph/web";
import type { StateSnapshot } from "@langchain/langgraph";

/** A compiled graph with the server's checkpointer. */
export type ServedGraph = CompiledGraph<string>;

/** Whose state it is. */
export interface StatePlace {
  graph: ServedGraph;
  sessionId: string;
}

/** What an agent knows of graphs that call its loop; nothing of other people's graphs. */
export interface GraphExtension {
  /** The nodes that call the loop: what it says in a subgraph is said by its node. None of other people's graphs. */
  loopNodes(graph: ServedGraph): ReadonlySet<string>;
  /** A state as a reader is shown it. */
  shownState(state: StateSnapshot, place: StatePlace): Promise<StateSnapshot>;
  /** The values of a session at rest as a reader is shown them; `interrupts` are its open questions by their steps. */
  shownValues<Values>(
    values: Values,
    interrupts: Readonly<Record<string, unknown>>,
    place: StatePlace,
  ): Promise<Values>;
}
