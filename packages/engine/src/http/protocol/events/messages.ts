import { mergeUsageMetadata, type AIMessage, type BaseMessage, type UsageMetadata } from "@langchain/core/messages";
import { z } from "zod";
import { isAIMessage, isBaseMessage, isBaseMessageChunk, kindOf } from "../../../message-kinds.ts";
import type { RunEvent } from "../../../run-events.ts";
import { createBlocks, piecesOf, type Blocks } from "./content-blocks.ts";
import type { ProtocolBody } from "./protocol-event.ts";

/** A message that has begun and not ended. */
interface OpenMessage {
  id: string;
  namespace: string[];
  node: string | undefined;
  /** The task that says it. */
  task: string | undefined;
  blocks: Blocks;
  usage: UsageMetadata | undefined;
  reason: string | undefined;
}

type MessageEvent = Extract<RunEvent, { event: "messages" }>;

/** The messages that a run says, as events of the channel `messages`. */
export interface MessageStreams {
  /** One chunk, or a whole message. */
  tell(event: MessageEvent): ProtocolBody[];
  /** A task is over: what it has said is said. */
  taskEnded(task: string): ProtocolBody[];
  /** The run has ended by itself. */
  runEnded(): ProtocolBody[];
}

/** Where a model was asked, as LangGraph says with every message. */
const Origin = z.looseObject({
  langgraph_checkpoint_ns: z.string().optional(),
  langgraph_node: z.string().optional(),
  ls_provider: z.string().optional(),
  ls_model_name: z.string().optional(),
});
const Ended = z.looseObject({ finish_reason: z.string().optional(), stop_reason: z.string().optional() });

/**
 * Follows what one run says. LangGraph does not tell where a streamed message ends: that is when its task does. Of
 * several that a task has begun, one that broke off and was asked for again stays open, and clients drop it with the
 * run. `placeOf` says under which namespace readers find the message.
 */
export function createMessageStreams(
  placeOf: (namespace: string[], metadata: Record<string, unknown>) => string[],
): MessageStreams {
  const open = new Map<string, OpenMessage>();
  const ended = new Set<string>();

  const body = ({ id, namespace, node }: OpenMessage, data: object): ProtocolBody => ({
    method: "messages",
    namespace,
    node,
    // By this the SDK keeps messages apart that are said at the same time.
    data: { ...data, run_id: id },
  });
  const finish = (message: OpenMessage): ProtocolBody[] => {
    const { id, usage, reason } = message;
    open.delete(id);
    ended.add(id);
    return [
      ...message.blocks.close().map((data) => body(message, data)),
      body(message, { event: "message-finish", ...(reason && { reason }), ...(usage && { usage }) }),
    ];
  };
  const begin = (id: string, role: string, event: MessageEvent): { message: OpenMessage; events: ProtocolBody[] } => {
    const origin = Origin.safeParse(event.metadata).data ?? {};
    const path = origin.langgraph_checkpoint_ns?.split("|") ?? event.namespace;
    const message = opened(id, path, placeOf(path, event.metadata), origin.langgraph_node);
    open.set(id, message);
    const metadata = { provider: origin.ls_provider, model: origin.ls_model_name };
    const start = { event: "message-start", id, role, ...(origin.ls_provider && { metadata }) };
    return { message, events: [body(message, start)] };
  };
  const add = (message: OpenMessage, said: BaseMessage): ProtocolBody[] => {
    if (isAIMessage(said)) note(message, said);
    return piecesOf(said).flatMap((piece) => message.blocks.add(piece).map((data) => body(message, data)));
  };
  /** The newest message of a task, and before it those that have come to an end. */
  const saidBy = (messages: OpenMessage[]): OpenMessage[] =>
    messages.filter((message, index) => index === messages.length - 1 || message.reason !== undefined);

  return {
    tell(event) {
      const { data: said } = event;
      const role = isBaseMessage(said) ? roleOf(said) : undefined;
      if (!isBaseMessage(said) || said.id === undefined || role === undefined || ended.has(said.id)) return [];
      const known = open.get(said.id);
      const { message, events } = known === undefined ? begin(said.id, role, event) : { message: known, events: [] };
      if (isBaseMessageChunk(said)) return [...events, ...add(message, said)];
      // The whole of a message whose parts were told says nothing new.
      return known === undefined ? [...events, ...add(message, said), ...finish(message)] : finish(message);
    },
    taskEnded: (task) => saidBy([...open.values()].filter((message) => message.task === task)).flatMap(finish),
    runEnded() {
      const byTask = Map.groupBy(open.values(), ({ task, namespace }) => task ?? namespace.join("|"));
      return [...byTask.values()].flatMap(saidBy).flatMap(finish);
    },
  };
}

function opened(id: string, path: string[], namespace: string[], node: string | undefined): OpenMessage {
  const task = path.at(-1)?.split(":").at(1);
  return { id, namespace, node, task, blocks: createBlocks(), usage: undefined, reason: undefined };
}

/** The role of a message that is told here; results of tools are told on the channel `tools`. */
function roleOf(message: BaseMessage): string | undefined {
  return ["ai", "human", "system"].find((role) => role === kindOf(message));
}

function note(message: OpenMessage, said: Pick<AIMessage, "usage_metadata" | "response_metadata">): void {
  if ("finish_reason" in said.response_metadata || "stop_reason" in said.response_metadata) {
    const { data: { finish_reason, stop_reason } = {} } = Ended.safeParse(said.response_metadata);
    message.reason = finish_reason ?? stop_reason ?? message.reason;
  }
  if (said.usage_metadata !== undefined) message.usage = mergeUsageMetadata(message.usage, said.usage_metadata);
}
