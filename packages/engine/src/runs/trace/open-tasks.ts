import type { SpanRecord } from "./span.ts";

/** A superstep of one graph, and how many of its tasks are under way. */
export interface OpenStep {
  span: SpanRecord;
  tasks: number;
  number: number;
  /** One of its nodes waits for a person. */
  waits: boolean;
}

/** A node at work, and the tool call that it was sent, where it was. */
export interface OpenTask {
  span: SpanRecord;
  step: OpenStep;
  call: string | undefined;
}

/** What is under way in a run at one place of its log. */
export class OpenTasks {
  /** The newest step of each graph, by its path of subgraphs. */
  readonly steps = new Map<string, OpenStep>();
  /** Nodes at work, by LangGraph's id of their task. */
  readonly tasks = new Map<string, OpenTask>();

  clear(): void {
    this.steps.clear();
    this.tasks.clear();
  }

  /** The innermost node at work on a path of subgraphs (`node:task`). */
  taskOf(namespace: readonly string[]): OpenTask | undefined {
    const ids = namespace.toReversed().map((part) => part.slice(part.lastIndexOf(":") + 1));
    for (const id of ids) {
      const task = this.tasks.get(id);
      if (task !== undefined) return task;
    }
    return undefined;
  }

  /** What does something in a graph: the node that was sent this tool call, or the only one at work, else their step. */
  currentSpan(namespace: readonly string[], call?: string): SpanRecord | undefined {
    const key = namespace.join("|");
    const open = [...this.tasks.values()].filter(({ span }) => span.namespace.join("|") === key);
    const sent = open.find((one) => call !== undefined && one.call === call);
    const task = sent ?? (open.length === 1 ? open[0] : undefined);
    return task?.span ?? this.steps.get(key)?.span ?? this.taskOf(namespace)?.span;
  }
}
