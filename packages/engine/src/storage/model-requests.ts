import type { BaseMessage } from "@langchain/core/messages";

/** What stands before the conversation in a request: the same object for all calls that share it. */
export interface RequestHead {
  system: string;
  /** The pieces of the system text in their order, each with its length; together they are all of it. */
  parts: { name: string; section: string; characters: number }[];
  /** What the model was given to read, right after the system text: plain texts. */
  documentation: BaseMessage[];
}

/** One request to a model, as it was sent. */
export interface ModelRequest {
  session_id: string;
  run_id: string;
  /** The node that asked. `is_silent`: what came back was for the program, not for the reader. */
  node: string;
  is_silent: boolean;
  /** `provider:name`, and what was chosen beside it. */
  model: string;
  temperature: number | null;
  thinking: boolean | null;
  max_tokens: number | null;
  tool_protocol: "native" | "text" | "tags" | null;
  forced_tool: string | null;
  /** ISO date. */
  asked_at: string;
  head: RequestHead;
  /** What followed the head, in order. */
  messages: BaseMessage[];
  /** Definitions of the tools that were offered. */
  tools: readonly object[];
}

/** What the model was last sent: the last request of each node of a session. */
export interface ModelRequestStore {
  /** Replaces the last request of the node. Costs what is new in it, and waits for no disk; without a session nothing. */
  note(request: ModelRequest): Promise<void>;
  /** The last request of a node; without one, the last whose answer was for the reader. Messages are fresh objects. */
  last(sessionId: string, node?: string): Promise<ModelRequest | undefined>;
}
