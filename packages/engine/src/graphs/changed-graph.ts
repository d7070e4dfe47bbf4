import { createHash } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { TASKS, uuid6 } from "@langchain/langgraph-checkpoint";
import type { StateSnapshot } from "@langchain/langgraph";
import { z } from "zod";
import { AppError } from "../errors/errors.ts";
import { isLegacyGraph, type ServedGraph } from "./served-graph.ts";

/** The parts of a compiled graph or subgraph that determine its possible steps. */
interface GraphShape {
  nodes: Record<string, { triggers?: unknown; subgraphs?: unknown[] | undefined }>;
  channels: Record<string, unknown>;
}

/** The hash of a graph's shape: nodes, edges and channels, including subgraphs. The nodes' code is not part of it. */
export function graphVersion(graph: GraphShape): string {
  return createHash("sha256")
    .update(JSON.stringify(shapeOf(graph)))
    .digest("hex")
    .slice(0, 16);
}

function shapeOf({ nodes, channels }: GraphShape): unknown {
  const names = Object.keys(nodes).toSorted();
  return [
    names.map((name) => [name, nodes[name]?.triggers, insideOf(nodes, name).map(shapeOf)]),
    Object.keys(channels).toSorted(),
  ];
}

function insideOf(nodes: GraphShape["nodes"], name: string): GraphShape[] {
  return (nodes[name]?.subgraphs ?? []).filter(isShape);
}

function isShape(graph: unknown): graph is GraphShape {
  return typeof graph === "object" && graph !== null && "nodes" in graph && "channels" in graph;
}

/** LangGraph's channel for a scheduled node, and for an edge that waits for several nodes. */
const next = "branch:to:";
const join = "join:";
const Sends = z.array(z.looseObject({ node: z.string() })).catch([]);

/**
 * The nodes that a stored state waits for but the graph lacks, by path: `ask`, or `inside|ask` in a subgraph. LangGraph
 * silently skips such steps, and the answers they wait for. `config` names the thread, and the checkpoint unless it is
 * the newest.
 */
export async function missingNodes(
  graph: ServedGraph,
  config: RunnableConfig,
  saver: BaseCheckpointSaver,
): Promise<string[]> {
  // Before LangGraph 0.4 the channels have other names.
  if (isLegacyGraph(graph)) return [];
  const tuple = await saver.getTuple(config);
  if (tuple === undefined) return [];
  const missing = missingIn(tuple, graph);
  const inside = Object.keys(graph.nodes).some((name) => insideOf(graph.nodes, name).length > 0);
  if (!inside) return missing;
  const state = await graph.getState(config, { subgraphs: true });
  return [...missing, ...(await missingInside(state, graph, saver))];
}

async function missingInside(
  { tasks }: StateSnapshot,
  { nodes }: GraphShape,
  saver: BaseCheckpointSaver,
): Promise<string[]> {
  const found: string[] = [];
  for (const { name, state } of tasks) {
    // Without a state of its own, the subgraph has not started.
    if (state === undefined || !("tasks" in state)) continue;
    const tuple = await saver.getTuple(state.config);
    for (const graph of insideOf(nodes, name)) {
      const here = tuple === undefined ? [] : missingIn(tuple, graph);
      found.push(...[...here, ...(await missingInside(state, graph, saver))].map((path) => `${name}|${path}`));
    }
  }
  return found;
}

function missingIn({ checkpoint }: CheckpointTuple, { nodes, channels }: GraphShape): string[] {
  const values = checkpoint.channel_values;
  const waiting = Object.keys(values).flatMap((channel) => {
    if (Object.hasOwn(channels, channel) || isEmpty(values[channel])) return [];
    if (channel.startsWith(next)) return [channel.slice(next.length)];
    return channel.startsWith(join) ? channel.slice(join.length).split(/[+:]/u) : [];
  });
  const sent = Sends.parse(values[TASKS]).map(({ node }) => node);
  return [...new Set([...waiting, ...sent])].filter((name) => !Object.hasOwn(nodes, name));
}

/** An edge that waits for several nodes keeps an empty list until one of them ends. */
function isEmpty(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}

/** Checkpoints searched for one to resume from. */
const lookedAt = 100;

/** The newest checkpoint of a thread that waits for no missing node; `undefined` if none of the last ones qualifies. */
async function lastFitting(
  graph: ServedGraph,
  threadId: string,
  saver: BaseCheckpointSaver,
): Promise<string | undefined> {
  const thread = { thread_id: threadId, checkpoint_ns: "" };
  for await (const { checkpoint } of saver.list({ configurable: thread }, { limit: lookedAt })) {
    const config = { configurable: { ...thread, checkpoint_id: checkpoint.id } };
    if ((await missingNodes(graph, config, saver)).length === 0) return checkpoint.id;
  }
  return undefined;
}

/**
 * Removes sends to missing nodes from a thread's newest state. When a state is updated as ended, LangGraph drops other
 * steps but keeps these, not knowing their node.
 */
export async function dropMissingSends(
  graph: ServedGraph,
  threadId: string,
  saver: BaseCheckpointSaver,
): Promise<void> {
  const newest = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  const tuple = await saver.getTuple(newest);
  const sends = Sends.parse(tuple?.checkpoint.channel_values[TASKS]);
  const kept = sends.filter(({ node }) => Object.hasOwn(graph.nodes, node));
  if (tuple === undefined || kept.length === sends.length) return;
  const { checkpoint, metadata, config } = tuple;
  const step = (metadata?.step ?? -1) + 1;
  const current = checkpoint.channel_versions[TASKS];
  const version = saver.getNextVersion(typeof current === "number" ? current : undefined);
  const channel_versions = { ...checkpoint.channel_versions, [TASKS]: version };
  await saver.put(
    config,
    {
      ...checkpoint,
      id: uuid6(step),
      ts: new Date().toISOString(),
      channel_values: { ...checkpoint.channel_values, [TASKS]: kept },
      channel_versions,
    },
    { source: "update", step, parents: metadata?.parents ?? {} },
    { [TASKS]: version },
  );
}

/** The error for a thread whose next steps the graph lacks; its pending steps stay as they are. */
export async function graphChanged(
  missing: readonly string[],
  graph: ServedGraph,
  { graphId, threadId }: { graphId: string; threadId: string },
  saver: BaseCheckpointSaver,
): Promise<AppError> {
  const named = missing.map((name) => JSON.stringify(name)).join(", ");
  const fitting = await lastFitting(graph, threadId, saver);
  const what = missing.length === 1 ? `the node ${named}` : `the nodes ${named}`;
  return new AppError("invalid_state", `The thread waits at ${what}, which the graph "${graphId}" no longer has.`, {
    suggestion: [
      "Nothing is lost: serve the graph with it again and repeat the request",
      ...(fitting === undefined ? [] : [`go on from the checkpoint ${fitting}, the last one that fits`]),
      'or drop the step with POST /threads/:thread_id/state {"values": null, "as_node": "__end__"}.',
    ].join(", "),
  });
}
