import { z } from "zod";
import type { RunEvent } from "../../../run-events.ts";
import { PendingInterrupt, type Run } from "../../../storage/records.ts";
import { type AgentStatus, type AgentTree, createLifecycles, createToolCalls, type Lifecycles } from "./lifecycle.ts";
import { createMessageStreams } from "./messages.ts";
import type { ProtocolBody, ProtocolEvent } from "./protocol-event.ts";

/** Translates one run into the protocol. It must see all events of the run, from the first. */
export interface RunProtocol {
  events(event: RunEvent): ProtocolEvent[];
  /** The events of the run's end; `ended` is its row, `undefined` for a deleted run. `at` is when it ended. */
  end(ended: Run | undefined, at: string): ProtocolEvent[];
  tree(): AgentTree;
}

/** Sequence numbers per millisecond of a thread. */
const placesPerMillisecond = 1000;

/** The ids of the questions that a run answers, if it answers them by id. */
const Answers = z.record(z.string().regex(/^[0-9a-f]{32}$/u), z.unknown());
const Questions = z.array(z.looseObject({ ...PendingInterrupt.shape, value: z.unknown().optional() }));

/**
 * Translates the log of one run into events of the protocol. The same log always gives the same events and `seq`: the
 * time of emission in microseconds, moved on to stay unique. A run ends in a millisecond of its own, and its end is
 * placed right before that; so is a run stopped before it started while another one was emitting. `loopNodes` are the
 * nodes of its graph that call our loop; the loop's messages are attributed to their node.
 */
export function createRunProtocol(run: Run, loopNodes: ReadonlySet<string>): RunProtocol {
  const lifecycles = createLifecycles(run.graph_id);
  const steps = createSteps(loopNodes, lifecycles);
  let failure: string | undefined;
  let seq = -1;
  let timestamp = Date.parse(run.created_at);

  const place = (body: ProtocolBody, earliest: number): ProtocolEvent => {
    seq = Math.max(seq + 1, earliest);
    const id = `${run.run_id}:${seq}`;
    return { ...body, seq, timestamp, event_id: body.method === "lifecycle" ? `synth:${id}` : id };
  };
  const stamp = (body: ProtocolBody): ProtocolEvent => place(body, timestamp * placesPerMillisecond);
  const held: ProtocolBody[] = [];
  const emit = (bodies: ProtocolBody[]): ProtocolEvent[] => {
    if (run.attempt > 0) return bodies.map(stamp);
    held.push(...bodies);
    return [];
  };
  let hasBegun = false;
  /** Readers drop at `running` what an earlier attempt left unfinished: this one writes it anew. */
  const begin = (): ProtocolBody[] => {
    steps.attemptBegan();
    const answered = Object.keys(Answers.safeParse(run.kwargs.command?.["resume"]).data ?? {});
    const isFirst = !hasBegun;
    hasBegun = true;
    if (!isFirst || answered.length === 0) return lifecycles.begin();
    return [...lifecycles.begin(), { method: "input.answered", namespace: [], data: { interrupt_ids: answered } }];
  };

  return {
    events(event) {
      timestamp = event.at ?? timestamp;
      if (event.event === "metadata") return emit(begin());
      if (event.event === "error") {
        failure = event.data.message;
        return [];
      }
      const bodies = steps.emit(event);
      const namespace = bodies.at(-1)?.namespace ?? event.namespace;
      return emit([...lifecycles.seen(namespace), ...bodies]);
    },
    end(ended, at) {
      const isPaused = steps.isPaused();
      const status = statusOf(ended, isPaused);
      const error = status === "failed" ? (failure ?? ended?.error?.message ?? "The run failed.") : undefined;
      const last = [...held, ...(ended?.status === "success" ? steps.end() : []), ...lifecycles.end(status, error)];
      timestamp = Date.parse(at);
      const first = timestamp * placesPerMillisecond - last.length;
      return last.map((body, index) => place(body, first + index));
    },
    tree: () => lifecycles.tree(),
  };
}

type Step = Extract<RunEvent, { namespace: string[] }>;

/** The events of a run's steps, by channel. */
interface Steps {
  /** An attempt starts: messages that the one before left unfinished are not continued. */
  attemptBegan(): void;
  emit(event: Step): ProtocolBody[];
  /** The events at the end of a run that ended by itself. */
  end(): ProtocolBody[];
  /** Whether the run has emitted that it waits. */
  isPaused(): boolean;
}

function createSteps(loopNodes: ReadonlySet<string>, lifecycles: Lifecycles): Steps {
  const placeOf = (namespace: string[]): string[] => {
    const [first = ""] = namespace;
    return loopNodes.has(first.split(":")[0] ?? "") ? [first] : namespace;
  };
  // Among the node's own, an agent's text would be taken for the reply.
  const messages = createMessageStreams((path, metadata) => ("sub_agent" in metadata ? path : placeOf(path)));
  const tools = createToolCalls(placeOf);
  const emittedQuestions = new Set<string>();
  let isPaused = false;

  /** Questions are emitted where they first occur; the enclosing graphs repeat them. */
  const questions = (namespace: string[], interrupts: unknown): ProtocolBody[] => {
    isPaused = true;
    const news = (Questions.safeParse(interrupts).data ?? []).filter(({ id }) => !emittedQuestions.has(id));
    return news.map(({ id, value }) => {
      emittedQuestions.add(id);
      return { method: "input.requested", namespace, data: { interrupt_id: id, payload: value } };
    });
  };
  const ofState = (namespace: string[], state: Record<string, unknown>): ProtocolBody[] => {
    if (!("__interrupt__" in state)) return [{ method: "values", namespace, data: state }];
    const { __interrupt__: interrupts, ...values } = state;
    const bodies = questions(namespace, interrupts);
    return Object.keys(values).length === 0 ? bodies : [...bodies, { method: "values", namespace, data: values }];
  };

  return {
    attemptBegan: () => messages.attemptBegan(),
    isPaused: () => isPaused,
    end: () => messages.runEnded(),
    emit(event) {
      const { namespace, data } = event;
      switch (event.event) {
        case "values":
          return ofState(namespace, event.data);
        case "updates":
          return Object.entries(event.data).flatMap(([node, update]): ProtocolBody[] =>
            node === "__interrupt__"
              ? questions(namespace, update)
              : [{ method: "updates", namespace, node, data: update }],
          );
        case "messages":
          return [...tools.emit(event), ...messages.emit(event)];
        case "tools":
          return tools.emit(event);
        case "custom":
          return [...tools.emit(event), { method: "custom", namespace, data: namedPayload(data) }];
        case "checkpoint":
          return [{ method: "checkpoints", namespace, data }];
        case "tasks":
          lifecycles.task(namespace, data);
          return [...endedBy(data, messages), { method: "tasks", namespace, data }];
        default:
          // Only readers of a single run ask for these.
          return [];
      }
    },
  };
}

function statusOf(ended: Run | undefined, isPaused: boolean): AgentStatus {
  switch (ended?.status) {
    case "success":
      return isPaused ? "interrupted" : "completed";
    case "error":
    case "timeout":
      return "failed";
    default:
      return "interrupted";
  }
}

const TaskResult = z.looseObject({ id: z.string(), result: z.unknown() });

function endedBy(data: unknown, messages: { taskEnded(task: string): ProtocolBody[] }): ProtocolBody[] {
  const task = TaskResult.safeParse(data).data;
  return task !== undefined && "result" in task ? messages.taskEnded(task.id) : [];
}

/** A payload that names itself is also emitted on its own channel `custom:<name>`. */
function namedPayload(payload: unknown): object {
  const isNamed = typeof payload === "object" && payload !== null && !Array.isArray(payload) && "name" in payload;
  return isNamed ? payload : { payload };
}
