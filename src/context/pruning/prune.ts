import type { BaseMessage } from "@langchain/core/messages";
import { clearTools } from "./clear-tools.ts";
import { deleteMessages } from "./delete-messages.ts";

/** What is left out of the view, and how. */
export interface Pruning {
  isMarked: (message: BaseMessage) => boolean;
  /** Tokens that the messages may take before tool results are cleared. */
  most: number;
  /** What stands for the result of a tool that was cleared. */
  textFor: (tool: string) => string;
}

/** The messages as they may be shown, each in its old place, and how many were left out or cleared. */
export interface Pruned {
  messages: (BaseMessage | undefined)[];
  deleted: number;
  cleared: number;
}

/**
 * The two stages before a model call: the messages that the model has marked are left out, and if the rest takes too
 * much, old tool results are cleared. The given list is valid for a strict provider; so is what is left.
 */
export function prune(messages: readonly BaseMessage[], { isMarked, most, textFor }: Pruning): Pruned {
  const left = deleteMessages(messages, isMarked);
  return { ...clearTools(left, most, textFor), deleted: left.filter((message) => message === undefined).length };
}
