import { createContext, use, useCallback, useSyncExternalStore, type ComponentType } from "react";
import type { Call, Item } from "../../thread/items.ts";
import type { OpenThread } from "../../thread/open-thread.ts";
import type { Snapshot } from "../../thread/snapshot.ts";

/** The thread that a page shows. */
export const ThreadContext = createContext<OpenThread | undefined>(undefined);

/** What draws an item: a call has items inside, which are drawn like any other. */
export const ItemComponent = createContext<ComponentType<{ id: string }>>(() => null);

/** Whether the thread has gone more than one way. */
export const IsBranched = createContext(false);

/** The thread around a component. */
export function useOpenThread(): OpenThread {
  const thread = use(ThreadContext);
  if (thread === undefined) throw new Error("There is no thread around this component.");
  return thread;
}

/** A part of what is known of the thread; the component is drawn again when this part has changed. */
export function useSnapshot<Part>(select: (snapshot: Snapshot) => Part): Part {
  const thread = useOpenThread();
  return useSyncExternalStore(thread.subscribe, () => select(thread.snapshot()));
}

/** One item of the conversation. */
export function useItem(id: string): Item | undefined {
  return useSnapshot(useCallback(({ thread }: Snapshot) => thread.items.get(id), [id]));
}

/** One call of a tool. */
export function useCall(id: string): Call | undefined {
  return useSnapshot(useCallback(({ thread }: Snapshot) => thread.calls.get(id), [id]));
}
