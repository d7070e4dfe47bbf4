/** What stands in a conversation, as the page draws it. */

/** A part of what an assistant said, in its order. */
export type Block =
  | { kind: "text"; text: string; isOpen: boolean }
  | { kind: "reasoning"; text: string; isOpen: boolean; startedAt?: number; endedAt?: number }
  | { kind: "call"; callId: string };

/** A file that was named beside a message. */
export interface Attachment {
  name: string;
}

/** Something a user said. `state` is about its way to the server. */
export interface UserItem {
  kind: "user";
  id: string;
  text: string;
  attachments: readonly Attachment[];
  timestamp: string | undefined;
  state: "sent" | "sending" | "failed" | "queued";
  /** The pending run that it waits for. */
  runId?: string | undefined;
  /** How that run will answer it: it can be sent again so. */
  waits?: { assistant: string; context: Record<string, unknown> };
}

/** Something an assistant says. `parent` is the call of the agent whose words these are. */
export interface AssistantItem {
  kind: "assistant";
  id: string;
  blocks: readonly Block[];
  isStreaming: boolean;
  /** Why it was cut off, where it was. */
  stopReason: string;
  isPartial: boolean;
  runId: string | undefined;
  timestamp: string | undefined;
  parent: string | undefined;
  suggestions: Suggested | undefined;
  /** Pages of the web that it has read for its answer. */
  sources: readonly Source[];
}

/** A page of the web. */
export interface Source {
  title: string;
  url: string;
}

/** What an assistant proposes to do next. */
export interface Suggested {
  summary: string;
  options: readonly { id: string; label: string; text: string; kind?: string | undefined }[];
  state: "active" | "selected" | "expired";
  selectedId: string | undefined;
}

/** A line about what happened in between. */
export interface NoteItem {
  kind: "note";
  id: string;
  note: "retry" | "degraded" | "loop" | "compressed" | "context" | "search" | "searchFailed" | "model";
  values: Readonly<Record<string, string | number>>;
  runId: string | undefined;
}

/** A message of the system, or one of a kind that the page does not know. */
export interface SystemItem {
  kind: "system";
  id: string;
  text: string;
}

/** How a run failed. */
export interface ErrorItem {
  kind: "error";
  id: string;
  text: string;
  runId: string | undefined;
}

/** Anything that stands in a conversation. */
export type Item = UserItem | AssistantItem | NoteItem | SystemItem | ErrorItem;

/** A call of a tool. `preparing`: its arguments are still being written. */
export interface Call {
  id: string;
  name: string;
  /** The arguments; while they come, only their text. */
  args: Readonly<Record<string, unknown>> | undefined;
  argsText: string;
  status: "preparing" | "waiting" | "running" | "done" | "failed" | "refused" | "cut";
  result: string | undefined;
  /** Where the server keeps all of a result of which this is only a part. */
  whole: { id: string; characters: number } | undefined;
  /** What it has said while it runs. */
  output: string;
  startedAt: number | undefined;
  endedAt: number | undefined;
  runId: string | undefined;
  /** The agents that do the work of the call, in their order. */
  agents: readonly { id: string; name: string; task: string }[];
}

/** Whether a call has a result of its own. */
export function isOver({ status }: Pick<Call, "status">): boolean {
  return status === "done" || status === "failed" || status === "refused";
}

/** A whole conversation. Lists and maps are replaced where they change, so that a reader sees what has. */
export interface ThreadState {
  /** Ids of items in the order of the page; those of agents are inside their call. */
  order: readonly string[];
  items: ReadonlyMap<string, Item>;
  calls: ReadonlyMap<string, Call>;
  /** Items said inside of a call. */
  inside: ReadonlyMap<string, readonly string[]>;
  /** The place of the newest event. */
  seq: number;
  /** The run that works, if one does. */
  runId: string | undefined;
  isBusy: boolean;
  /** Runs that are over; what they have said and the server does not know was never kept. */
  ended: ReadonlySet<string>;
  /** Runs that ended with a question, since the last one that did not. */
  waiting: ReadonlySet<string>;
  /** The calls that agents work for, by the id of the agent and by the namespace in which it works. */
  agents: ReadonlyMap<string, string>;
  /** Share of the model's window that is used. */
  usage: number;
}

/** A conversation of which nothing is known. */
export const emptyThread: ThreadState = {
  order: [],
  items: new Map(),
  calls: new Map(),
  inside: new Map(),
  seq: 0,
  runId: undefined,
  isBusy: false,
  ended: new Set(),
  waiting: new Set(),
  agents: new Map(),
  usage: 0,
};

/** Whether an item shows a call. */
export function hasCall(item: Item | undefined, callId: string): boolean {
  return item?.kind === "assistant" && item.blocks.some((block) => block.kind === "call" && block.callId === callId);
}
