import type { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import type { z } from "zod";
import { isAIMessage, isBaseMessage, isBaseMessageChunk } from "../../message-kinds.ts";
import type { RunEvent } from "../../run-events.ts";
import { OpenTasks } from "./open-tasks.ts";
import { newSpan, type SpanRecord } from "./span.ts";
import {
  addUsage,
  CallInput,
  EndedTask,
  CheckpointEnvelope,
  isModelOutput,
  repliesIn,
  addCost,
  TraceEvent,
  hasOutput,
  StartedTask,
  ToolEvent,
} from "./trace-events.ts";

/**
 * The spans that the log of one run tells of, gathered event by event, in the order in which they began. A run whose log
 * has no events of the mode `tasks` gives none for steps and nodes; the same goes for the modes of models and tools.
 */
export class LogSpans {
  readonly spans: SpanRecord[] = [];
  /** The newest event that was taken in. */
  last = -1;
  readonly #runId: string;
  #time: number | null = null;
  readonly #ids = new Map<string, number>();
  readonly #open = new OpenTasks();
  readonly #models = new Map<string, SpanRecord>();
  /** The model call that each node has made last, and the tool call of it that has ended last. */
  readonly #newestReply = new Map<string, SpanRecord>();
  readonly #newestResult = new Map<string, SpanRecord>();
  readonly #tools = new Map<string, SpanRecord>();
  readonly #agents = new Map<string, SpanRecord>();

  constructor(runId: string) {
    this.#runId = runId;
  }

  /** Takes in the next event; gives the spans that it has begun or changed. */
  add(event: RunEvent): SpanRecord[] {
    const before = this.#time;
    this.last = event.id;
    this.#time = event.at ?? null;
    const changed = this.#changedBy(event, before);
    for (const span of changed) span.seq = event.id;
    return changed;
  }

  #changedBy(event: RunEvent, before: number | null): SpanRecord[] {
    switch (event.event) {
      case "metadata":
        return event.data.attempt > 1 ? this.#newAttempt(event.data.attempt, before) : [];
      case "tasks":
        return this.#task(event.namespace, event.data);
      case "checkpoint":
        return this.#checkpoint(event.namespace, event.data);
      case "messages":
        return isBaseMessage(event.data) && isAIMessage(event.data) ? this.#reply(event.data, event.metadata) : [];
      case "tools":
        return this.#tool(event.namespace, event.data);
      case "custom":
        return this.#custom(event.namespace, event.data);
      default:
        return [];
    }
  }

  /** LangGraph names a task that is done again as it did before. */
  #unique(id: string): string {
    const count = (this.#ids.get(id) ?? 0) + 1;
    this.#ids.set(id, count);
    return count === 1 ? id : `${id}~${count}`;
  }

  #begin(known: Parameters<typeof newSpan>[0]): SpanRecord {
    const span = newSpan({ start: this.#time, lastSeen: this.#time, ...known, id: this.#unique(known.id) });
    this.spans.push(span);
    return span;
  }

  /** A crash or a stop of the server has ended what was under way; the run goes on from its checkpoint. */
  #newAttempt(attempt: number, before: number | null): SpanRecord[] {
    const cut = this.spans.filter(({ status }) => status === "running");
    for (const span of cut) Object.assign(span, { status: "interrupted", end: before ?? span.lastSeen });
    const open = [this.#open, this.#models, this.#newestReply, this.#newestResult, this.#tools, this.#agents];
    for (const one of open) one.clear();
    return [...cut, this.#addRetry(this.#runId, `attempt ${attempt}`, null)];
  }

  #addRetry(parent: string, name: string, error: SpanRecord["error"], place: Partial<SpanRecord> = {}): SpanRecord {
    const id = `${this.#runId}:retry`;
    return this.#begin({
      ...place,
      id,
      parent,
      kind: "retry",
      name,
      error,
      source: "log",
      end: this.#time,
      status: "success",
    });
  }

  #task(namespace: string[], data: unknown): SpanRecord[] {
    const isEnd = typeof data === "object" && data !== null && "result" in data;
    if (isEnd) {
      const ended = EndedTask.safeParse(data).data;
      return ended === undefined ? [] : this.#endTask(ended);
    }
    const begun = StartedTask.safeParse(data).data;
    return begun === undefined ? [] : this.#beginTask(namespace, begun);
  }

  #beginTask(namespace: string[], { id, name, input }: z.infer<typeof StartedTask>): SpanRecord[] {
    const key = namespace.join("|");
    let step = this.#open.steps.get(key);
    const changed: SpanRecord[] = [];
    if (step === undefined || step.tasks === 0) {
      const number = (step?.number ?? 0) + 1;
      const parent = this.#open.taskOf(namespace)?.span ?? null;
      const span = this.#begin({
        id: `${parent?.id ?? this.#runId}:${number}`,
        parent: parent?.id ?? this.#runId,
        kind: "step",
        name: `step ${number}`,
        node: parent?.node ?? null,
        namespace,
        source: "log",
      });
      step = { span, tasks: 0, number, waits: false };
      this.#open.steps.set(key, step);
      changed.push(span);
    }
    step.tasks += 1;
    const span = this.#begin({
      id,
      parent: step.span.id,
      kind: "node",
      name,
      node: name,
      namespace,
      source: "log",
      input: this.last,
    });
    this.#open.tasks.set(id, { span, step, call: CallInput.safeParse(input).data });
    return [...changed, span];
  }

  #endTask({ id, error, interrupts, result }: z.infer<typeof EndedTask>): SpanRecord[] {
    const task = this.#open.tasks.get(id);
    if (task === undefined) return [];
    this.#open.tasks.delete(id);
    const { span, step } = task;
    const status = error ? "error" : interrupts.length > 0 ? "interrupted" : "success";
    Object.assign(span, { end: this.#time, status, error: error ?? null, output: this.last });
    const replies = this.#endModels(span, status, result);
    step.tasks -= 1;
    step.span.lastSeen = this.#time;
    step.waits ||= interrupts.length > 0;
    step.span.error ??= span.error;
    if (step.tasks > 0) return [span, ...replies];
    const whole = step.span.error !== null ? "error" : step.waits ? "interrupted" : "success";
    Object.assign(step.span, { end: this.#time, status: whole });
    return [span, ...replies, step.span];
  }

  /** The model calls of a node end with it; its result says what they have cost. */
  #endModels(node: SpanRecord, status: SpanRecord["status"], result: unknown): SpanRecord[] {
    for (const message of repliesIn(result)) {
      const model = message.id === undefined ? undefined : this.#models.get(message.id);
      if (model !== undefined) addCost(model, message);
    }
    const own = [...this.#models].filter(([, { parent }]) => parent === node.id);
    for (const [id, span] of own) {
      this.#models.delete(id);
      if (span.status === "running") Object.assign(span, { end: span.lastSeen, status });
    }
    return own.map(([, span]) => span);
  }

  #checkpoint(namespace: string[], data: unknown): SpanRecord[] {
    const envelope = CheckpointEnvelope.safeParse(data).data;
    const step = this.#open.steps.get(namespace.join("|"));
    if (envelope?.source !== "loop" || step === undefined || step.tasks > 0) return [];
    step.span.checkpoint_id = envelope.id;
    return [step.span];
  }

  #reply(message: AIMessage | AIMessageChunk, metadata: Record<string, unknown>): SpanRecord[] {
    const { id } = message;
    const known = id === undefined ? undefined : this.#models.get(id);
    if (id === undefined || (known === undefined && !isModelOutput(message, metadata))) return [];
    const span = known ?? this.#beginModel(id, metadata);
    if (known === undefined) this.#models.set(id, span);
    span.lastSeen = this.#time;
    span.output = this.last;
    if (span.first_token === null && hasOutput(message)) span.first_token = this.#time;
    if (message.usage_metadata !== undefined) span.usage = addUsage(span.usage, message.usage_metadata);
    if (!isBaseMessageChunk(message)) {
      addCost(span, message);
      // A whole message has not come in pieces: when its first word came is not known.
      if (known === undefined) Object.assign(span, { end: this.#time, status: "success", first_token: null });
    }
    return [span];
  }

  #beginModel(id: string, metadata: Record<string, unknown>): SpanRecord {
    const { langgraph_checkpoint_ns: path, langgraph_node: node, ls_model_name: model, model_call_id: call } = metadata;
    const namespace = typeof path === "string" ? path.split("|") : [];
    const task = this.#open.taskOf(namespace)?.span;
    const parent = task?.id ?? this.#runId;
    // The request goes out when the node begins, or when what it did before is over: a reply, and the calls that it asked for.
    const before = [this.#newestReply, this.#newestResult].flatMap((newest) => newest.get(parent)?.lastSeen ?? []);
    const span = this.#begin({
      id,
      parent,
      kind: "model",
      name: typeof model === "string" ? model : "model",
      node: typeof node === "string" ? node : null,
      namespace: namespace.slice(0, -1),
      model: typeof model === "string" ? model : null,
      source: "log",
      message_id: id,
      model_call_id: typeof call === "string" ? call : null,
      input: this.last,
      start: before.length > 0 ? Math.max(...before) : (task?.start ?? null),
    });
    this.#newestReply.set(parent, span);
    return span;
  }

  #tool(namespace: string[], data: unknown): SpanRecord[] {
    const event = ToolEvent.safeParse(data).data;
    if (event === undefined) return [];
    const { toolCallId: id, name, error } = event;
    const key = `${namespace.join("|")} ${id}`;
    if (event.event === "on_tool_start") {
      const place = this.#placeOf(namespace, id);
      const about = { id, kind: "tool", name, namespace, source: "log", tool_call_id: id, input: this.last } as const;
      const span = this.#begin({ ...place, ...about });
      this.#tools.set(key, span);
      return [span];
    }
    const span = this.#tools.get(key);
    if (span === undefined) return [];
    span.lastSeen = this.#time;
    if (event.event !== "on_tool_end" && event.event !== "on_tool_error") return [span];
    this.#tools.delete(key);
    this.#newestResult.set(span.parent ?? this.#runId, span);
    const status = event.event === "on_tool_end" ? "success" : "error";
    Object.assign(span, { end: this.#time, status, error: error ?? null, output: this.last });
    return [span];
  }

  #placeOf(namespace: string[], call?: string): { parent: string; node: string | null } {
    const around = this.#open.currentSpan(namespace, call);
    return { parent: around?.id ?? this.#runId, node: around?.node ?? null };
  }

  #custom(namespace: string[], data: unknown): SpanRecord[] {
    const event = TraceEvent.safeParse(data).data;
    if (event === undefined) return [];
    if (event.type === "retry") {
      const { parent, node } = this.#placeOf(namespace);
      return [this.#addRetry(parent, event.what, { error: "retry", message: event.reason }, { namespace, node })];
    }
    if (event.type === "subagent_started") {
      const { agent_id: id, agent_name: name } = event;
      const span = this.#begin({
        ...this.#placeOf(namespace, id),
        id,
        kind: "agent",
        name,
        namespace,
        source: "log",
      });
      this.#agents.set(id, span);
      return [span];
    }
    const span = this.#agents.get(event.agent_id);
    if (span === undefined) return [];
    Object.assign(span, { end: this.#time, status: event.success ? "success" : "error" });
    return [span];
  }
}
