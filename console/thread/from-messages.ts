import type { Message } from "../api/shapes.ts";
import type { AssistantItem, Block, Call, Item, ThreadState } from "./items.ts";
import { newCall } from "./blocks.ts";
import { endOf } from "./endings.ts";

/** A page of messages as the server keeps them, and what was known when it was asked for. */
export interface Page {
  messages: readonly Message[];
  /** Runs that were over when the page was asked for: what they said and the page lacks was not kept. */
  ended: ReadonlySet<string>;
  /** Whether these are the newest messages; else they come before those that are known. */
  isNewest: boolean;
  /** Whether the page begins at the first message of all. */
  isWhole: boolean;
}

/** The conversation with a page of messages put in: what the server says wins, by id. Pure. */
export function withPage(state: ThreadState, { messages, ended, isNewest, isWhole }: Page): ThreadState {
  const items = new Map(state.items);
  const calls = new Map(state.calls);
  const ids: string[] = [];
  for (const message of messages) {
    if (message.role === "tool") putResult(calls, message);
    const item = itemOf(message, state);
    if (item === undefined) continue;
    items.set(item.id, item);
    ids.push(item.id);
    if (item.kind === "assistant") putCalls(calls, message, item.runId);
  }
  const known = new Set(ids);
  if (!isNewest) {
    const order = [...ids, ...state.order.filter((id) => !known.has(id))];
    return { ...state, items, calls, order };
  }
  const order = merged(state, ids, { ended, isWhole });
  for (const id of state.order) if (!order.has(id)) items.delete(id);
  return { ...state, items, calls, order: [...order] };
}

/** The newest page in its order; before it what is older, and, after what they followed, things that are not kept as messages. */
function merged(
  state: ThreadState,
  ids: readonly string[],
  page: { ended: ReadonlySet<string>; isWhole: boolean },
): Set<string> {
  const known = new Set(ids);
  const first = state.order.findIndex((id) => known.has(id));
  const isOlder = (index: number): boolean => !page.isWhole && index < first;
  const order = new Set(state.order.filter((_, index) => isOlder(index)));
  const followers = new Map<string, string[]>();
  let anchor = "";
  for (const [index, id] of state.order.entries()) {
    if (known.has(id)) anchor = id;
    else if (!isOlder(index) && isKept(state.items.get(id), page.ended)) {
      followers.set(anchor, [...(followers.get(anchor) ?? []), id]);
    }
  }
  const place = (id: string): void => {
    for (const follower of followers.get(id) ?? []) order.add(follower);
  };
  // What came before the first page is there is what is being said now: it follows the page.
  const leads = ids.length > 0 && first >= 0;
  if (leads) place("");
  for (const id of ids) {
    order.add(id);
    place(id);
  }
  if (!leads) place("");
  return order;
}

/** Whether an item stays that the server does not know as a message. */
function isKept(item: Item | undefined, ended: ReadonlySet<string>): boolean {
  switch (item?.kind) {
    case "user":
      return item.state === "sending" || item.state === "failed";
    case "assistant":
      return item.runId !== undefined && !ended.has(item.runId);
    case "note":
    case "error":
      return true;
    case "system":
    case undefined:
      return false;
  }
}

function itemOf(message: Message, state: ThreadState): Item | undefined {
  const { id, role, content } = message;
  if (id === null || role === "tool") return undefined;
  if (role === "user") {
    const attachments = message.attachments.map(({ name, path }) => ({ name: path ?? name ?? "" }));
    return { kind: "user", id, text: content, attachments, timestamp: message.timestamp ?? undefined, state: "sent" };
  }
  if (role !== "assistant" && role !== "suggestion") return { kind: "system", id, text: content };
  const known = state.items.get(id);
  return assistantOf(id, message, known?.kind === "assistant" ? known : undefined);
}

function assistantOf(id: string, message: Message, known: AssistantItem | undefined): AssistantItem {
  const { suggestions } = message;
  const thought = known?.blocks.find((block) => block.kind === "reasoning");
  const times =
    thought?.kind === "reasoning"
      ? {
          ...(thought.startedAt !== undefined && { startedAt: thought.startedAt }),
          ...(thought.endedAt !== undefined && { endedAt: thought.endedAt }),
        }
      : {};
  const blocks: Block[] = [
    ...(message.reasoning === ""
      ? []
      : [{ kind: "reasoning" as const, text: message.reasoning, isOpen: false, ...times }]),
    ...(message.content === "" ? [] : [{ kind: "text" as const, text: message.content, isOpen: false }]),
    ...message.tool_calls.map(({ id: callId }, index) => ({
      kind: "call" as const,
      callId: callId ?? `${id}.${index}`,
    })),
  ];
  return {
    kind: "assistant",
    id,
    blocks,
    isStreaming: false,
    stopReason: message.stop_reason,
    isPartial: message.is_partial,
    runId: message.llm_metadata?.run_id ?? known?.runId,
    timestamp: message.timestamp ?? undefined,
    parent: undefined,
    sources: message.web_search_results.flatMap(({ title, url }) =>
      url === undefined ? [] : [{ url, title: title ?? url }],
    ),
    suggestions:
      suggestions === null
        ? undefined
        : {
            summary: suggestions.status_summary,
            options: suggestions.options,
            state: suggestions.state,
            selectedId: suggestions.selected_id ?? undefined,
          },
  };
}

function putCalls(calls: Map<string, Call>, { id, tool_calls }: Message, runId: string | undefined): void {
  for (const [index, { id: callId, name, args }] of tool_calls.entries()) {
    const key = callId ?? `${id}.${index}`;
    const known = calls.get(key) ?? newCall(key, name, runId);
    calls.set(key, { ...known, name, args });
  }
}

function putResult(
  calls: Map<string, Call>,
  { tool_call_id: id, name, content, timestamp, whole_result, call_started_at: begun }: Message,
): void {
  if (id === null) return;
  const known = calls.get(id) ?? newCall(id, name ?? "", undefined);
  const endedAt = known.endedAt ?? (timestamp === null ? undefined : Date.parse(timestamp));
  // The events of a run that was only waited for do not come to the page.
  const startedAt = known.startedAt ?? (begun ? Date.parse(begun) : undefined);
  const outcome = { result: content, whole: whole_result ?? undefined, status: endOf(content) };
  calls.set(id, { ...known, ...outcome, startedAt, endedAt });
}
