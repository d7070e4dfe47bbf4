import { z } from "zod";
import type { ProtocolBody } from "./protocol-event.ts";
import type { ToolMessage } from "@langchain/core/messages";
import { isBaseMessage, isToolMessage, messageText } from "../../../message-kinds.ts";
import type { RunEvent } from "../../../run-events.ts";

/** The state of a graph in the tree. */
export type AgentStatus = "started" | "running" | "completed" | "failed" | "interrupted";

/** A graph or task of a run, and what runs inside it. */
export interface AgentTree {
  namespace: string[];
  status: AgentStatus;
  graph_name: string;
  children?: AgentTree[];
}

/** The graphs of one run, as events of the channel `lifecycle`. */
export interface Lifecycles {
  /** An attempt of the run starts: the first one, or one that takes the run up after a crash. */
  begin(): ProtocolBody[];
  /**
   * An event was emitted at this namespace: every graph on the path has started. Ends of earlier graphs are emitted
   * first.
   */
  seen(namespace: string[]): ProtocolBody[];
  /** A task starts or has a result. */
  task(namespace: string[], data: unknown): void;
  /** The run is over, and everything in it. */
  end(status: AgentStatus, error?: string): ProtocolBody[];
  tree(): AgentTree;
}

interface Graph {
  namespace: string[];
  status: AgentStatus;
  name: string;
}

const Task = z.looseObject({
  id: z.string(),
  name: z.string(),
  input: z.unknown().optional(),
  /** Of a result: the task's interrupts and its error. */
  interrupts: z.array(z.unknown()).optional(),
  error: z.unknown().optional(),
  metadata: z.looseObject({ lc_agent_name: z.string().optional() }).nullish(),
});
/** The call that a task was started for: alone, or the first of a list. */
const CallInput = z.union([
  z.looseObject({ tool_call: z.looseObject({ id: z.string() }) }).transform(({ tool_call }) => tool_call.id),
  z.array(z.looseObject({ id: z.string() })).transform(([first]) => first?.id),
]);

/**
 * Follows the graphs of one run by LangGraph's rules: a namespace starts with its first event and ends with the result
 * of its task. Named agents keep their name and say which call they work for.
 */
export function createLifecycles(graphName: string): Lifecycles {
  const graphs = new Map<string, Graph>();
  const calls = new Map<string, string>();
  const names = new Map<string, string>();
  /** Graphs whose task has a result: their end is emitted with the next event. */
  let ending: Graph[] = [];
  let ended: Graph[] = [];
  const root: Graph = { namespace: [], status: "started", name: graphName };
  graphs.set(keyOf([]), root);

  const move = (graph: Graph, status: AgentStatus, more: object = {}): ProtocolBody => {
    graph.status = status;
    const { namespace, name } = graph;
    return { method: "lifecycle", namespace, data: { event: status, graph_name: name, ...more } };
  };
  const flush = (graphs: readonly Graph[]): ProtocolBody[] =>
    graphs.filter(({ status }) => status === "started").map((graph) => move(graph, "completed"));
  const start = (namespace: string[]): ProtocolBody[] => {
    const key = keyOf(namespace);
    if (graphs.has(key)) return [];
    const [node = "", task = ""] = namespace.at(-1)?.split(":") ?? [];
    const agent = names.get(key);
    const graph: Graph = { namespace, status: "started", name: agent ?? node };
    graphs.set(key, graph);
    const tool_call_id = agent === undefined ? undefined : calls.get(task);
    return [move(graph, "started", tool_call_id === undefined ? {} : { cause: { type: "toolCall", tool_call_id } })];
  };

  return {
    begin: () => [move(root, "running")],
    seen(namespace) {
      // Fast path: every token comes here, and nearly all change nothing.
      if (ended.length + ending.length === 0 && graphs.has(keyOf(namespace))) return [];
      const over = ended;
      ended = ending;
      ending = [];
      const path = namespace.map((_, index) => namespace.slice(0, index + 1));
      return [...flush(over), ...path.flatMap(start)];
    },
    task(namespace, data) {
      const task = Task.safeParse(data).data;
      if (task === undefined) return;
      if ("result" in task) {
        const graph = graphs.get(keyOf([...namespace, `${task.name}:${task.id}`]));
        // A graph that waits or has failed ends with the run.
        const isDone = (task.interrupts ?? []).length === 0 && (task.error ?? null) === null;
        if (graph !== undefined && isDone) ending.push(graph);
        return;
      }
      const agent = task.metadata?.lc_agent_name;
      // The name is that of the graph that contains the task.
      if (agent !== undefined && agent !== "" && namespace.length > 0) names.set(keyOf(namespace), agent);
      const call = CallInput.safeParse(task.input).data;
      if (call !== undefined) calls.set(task.id, call);
    },
    end(status, error) {
      const inside = [...graphs.values()].filter((graph) => graph !== root && graph.status === "started");
      return [
        ...flush([...ended, ...ending]),
        ...inside.filter((graph) => graph.status === "started").map((graph) => move(graph, status)),
        move(root, status, error === undefined ? {} : { error }),
      ];
    },
    tree: () => treeOf(root, [...graphs.values()]),
  };
}

function keyOf(namespace: readonly string[]): string {
  return namespace.join("|");
}

function treeOf({ namespace, status, name }: Graph, graphs: readonly Graph[]): AgentTree {
  const below = graphs.filter(
    (graph) =>
      graph.namespace.length === namespace.length + 1 && namespace.every((part, at) => graph.namespace[at] === part),
  );
  const children = below.map((graph) => treeOf(graph, graphs));
  return { namespace, status, graph_name: name, ...(children.length > 0 && { children }) };
}

/** The tool calls of a run, as events of the channel `tools`. */
interface ToolCalls {
  /** Events of our loop's calls, or of LangGraph's own tools. */
  emit(event: RunEvent): ProtocolBody[];
}

/** The event of our loop when a call starts; `agent`: an agent made it, inside a call of the turn. */
const Called = z.looseObject({
  type: z.literal("agentic_loop.tool_called"),
  tool_call_id: z.string(),
  tool_name: z.string(),
  arguments: z.unknown(),
  agent: z.unknown().optional(),
});
/** LangGraph's own mode `tools`. */
const OwnTool = z.discriminatedUnion("event", [
  z.looseObject({
    event: z.literal("on_tool_start"),
    toolCallId: z.string(),
    name: z.string(),
    input: z.unknown().optional(),
  }),
  z.looseObject({ event: z.literal("on_tool_event"), toolCallId: z.string(), data: z.unknown().optional() }),
  z.looseObject({ event: z.literal("on_tool_end"), toolCallId: z.string(), output: z.unknown().optional() }),
  z.looseObject({ event: z.literal("on_tool_error"), toolCallId: z.string(), error: z.unknown().optional() }),
]);

/**
 * Follows the calls of one run. Each starts once and ends once, whichever source reports it; a result without a start
 * is that of a call that never ran, and appears in the state alone. `placeOf` gives the namespace under which readers
 * find a call.
 */
export function createToolCalls(placeOf: (namespace: string[]) => string[]): ToolCalls {
  const open = new Map<string, string[]>();
  const ended = new Set<string>();

  const tools = (namespace: string[], data: object): ProtocolBody => ({ method: "tools", namespace, data });
  const begin = (id: string, namespace: string[], data: object): ProtocolBody[] => {
    if (open.has(id)) return [];
    open.set(id, namespace);
    return [tools(namespace, { event: "tool-started", tool_call_id: id, ...data })];
  };
  const end = (id: string, data: object): ProtocolBody[] => {
    const namespace = open.get(id);
    if (namespace === undefined || ended.has(id)) return [];
    ended.add(id);
    return [tools(namespace, { tool_call_id: id, ...data })];
  };
  const ofOwnTool = (namespace: string[], data: unknown): ProtocolBody[] => {
    const toolEvent = OwnTool.safeParse(data).data;
    switch (toolEvent?.event) {
      case undefined:
        return [];
      case "on_tool_start":
        return begin(toolEvent.toolCallId, namespace, { tool_name: toolEvent.name, input: toolEvent.input });
      case "on_tool_event": {
        const delta = typeof toolEvent.data === "string" ? toolEvent.data : JSON.stringify(toolEvent.data ?? null);
        return [tools(namespace, { event: "tool-output-delta", tool_call_id: toolEvent.toolCallId, delta })];
      }
      case "on_tool_end":
        return end(toolEvent.toolCallId, { event: "tool-finished", output: toolEvent.output });
      case "on_tool_error":
        return end(toolEvent.toolCallId, { event: "tool-error", message: messageOf(toolEvent.error) });
    }
  };

  return {
    emit(event) {
      if (event.event === "custom") {
        const called = Called.safeParse(event.data).data;
        if (called === undefined) return [];
        const namespace = called.agent === undefined ? placeOf(event.namespace) : event.namespace;
        return begin(called.tool_call_id, namespace, { tool_name: called.tool_name, input: called.arguments });
      }
      if (event.event === "messages" && isBaseMessage(event.data) && isToolMessage(event.data)) {
        return end(event.data.tool_call_id, resultOf(event.data));
      }
      return event.event === "tools" ? ofOwnTool(placeOf(event.namespace), event.data) : [];
    },
  };
}

function resultOf(message: ToolMessage): object {
  return message.status === "error"
    ? { event: "tool-error", message: messageText(message) }
    : { event: "tool-finished", output: message };
}

const WithMessage = z.looseObject({ message: z.string() });

function messageOf(error: unknown): string {
  return WithMessage.safeParse(error).data?.message ?? (typeof error === "string" ? error : "The tool failed.");
}
