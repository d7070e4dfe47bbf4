import { v7 as uuid } from "@langchain/core/utils/uuid";
import { z } from "zod";
import { holdsMessages, type WithChannels } from "../../graphs/served-graph.ts";
import { isBaseMessage } from "../../message-kinds.ts";

const Dictionary = z.record(z.string(), z.unknown());
const Pair = z.tuple([z.string(), z.unknown()]);
const Constructor = z.looseObject({ lc: z.number(), type: z.literal("constructor"), kwargs: Dictionary });

/** One message in any form LangChain reads, with an id. What is no message is left for the graph to refuse. */
function withId(message: unknown): unknown {
  if (typeof message === "string") return { type: "human", content: message, id: uuid() };
  if (isBaseMessage(message)) return withId({ ...message.toDict().data, type: message.type });
  const pair = Pair.safeParse(message);
  if (pair.success) return { role: pair.data[0], content: pair.data[1], id: uuid() };
  const constructed = Constructor.safeParse(message);
  if (constructed.success) {
    const { kwargs } = constructed.data;
    return { ...constructed.data, kwargs: { ...kwargs, id: kwargs["id"] ?? uuid() } };
  }
  const dictionary = Dictionary.safeParse(message);
  if (!dictionary.success || !("role" in dictionary.data || "type" in dictionary.data)) return message;
  return { ...dictionary.data, id: dictionary.data["id"] ?? uuid() };
}

/**
 * The input of a run with an id on every message, given before the input is stored: a step that is repeated after a crash
 * then replaces its message and does not double it. What goes into a channel that is not one of messages stays as it came.
 */
export function giveMessageIds(input: unknown, graph: WithChannels): unknown {
  const parsed = Dictionary.safeParse(input);
  if (!parsed.success) return input;
  const names = Object.keys(parsed.data).filter((name) => holdsMessages(graph, name));
  if (names.length === 0) return input;
  return { ...parsed.data, ...Object.fromEntries(names.map((name) => [name, withIds(parsed.data[name])])) };
}

function withIds(messages: unknown): unknown {
  if (messages === undefined || messages === null) return messages;
  return Array.isArray(messages) ? messages.map(withId) : withId(messages);
}

/** The `update` of a command, which is an object or a list of channel and value, with an id on every message. */
export function giveUpdateIds(update: unknown, graph: WithChannels): unknown {
  const pairs = z.array(Pair).safeParse(update);
  if (!pairs.success) return giveMessageIds(update, graph);
  return pairs.data.map(([channel, value]) => [channel, holdsMessages(graph, channel) ? withIds(value) : value]);
}
