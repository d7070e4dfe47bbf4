import type { BaseMessage } from "@langchain/core/messages";
import { clearTools } from "./clear-tools.ts";
import { deleteMessages } from "./delete-messages.ts";

/** Options of pruning. */
export interface Pruning {
  isMarked: (message: BaseMessage) => boolean;
  /** Tokens above which tool results are cleared. */
  maxTokens: number;
  /** The replacement for a cleared tool result. */
  textFor: (tool: string) => string;
}

/** The pruned messages in their original places, and counts. */
export interface Pruned {
  messages: (BaseMessage | undefined)[];
  deleted: number;
  cleared: number;
}

/**
 * Prunes in two stages: removes messages the model marked, then clears old tool results if the rest is too long. A
 * valid list stays valid for strict providers.
 */
export function prune(messages: readonly BaseMessage[], { isMarked, maxTokens, textFor }: Pruning): Pruned {
  const left = deleteMessages(messages, isMarked);
  return { ...clearTools(left, maxTokens, textFor), deleted: left.filter((message) => message === undefined).length };
}
