import { createContext, use, useCallback, useMemo, type ReactNode } from "react";
import type { Operation } from "../../../api/shapes.ts";
import { useOpenThread, useSnapshot } from "../thread-context.tsx";

/** Where changes are shown, and can be taken back. */
export interface ChangesPlace {
  /** The id of their thread. */
  id: string;
  /** Those of the thread that the page knows. */
  operations: readonly Operation[];
  /** Reads them again. */
  sync: () => Promise<void>;
}

/** The changes around a component. */
export const ChangesContext = createContext<ChangesPlace | undefined>(undefined);

/** The changes around a component. */
export function useChangesPlace(): ChangesPlace {
  const place = use(ChangesContext);
  if (place === undefined) throw new Error("There are no changes around this component.");
  return place;
}

/** The changes of the chat that is open. */
export function ChangesOfChat({ children }: { children: ReactNode }) {
  const thread = useOpenThread();
  const operations = useSnapshot(useCallback((snapshot) => snapshot.operations, []));
  const place = useMemo(() => ({ id: thread.id, operations, sync: () => thread.sync() }), [thread, operations]);
  return <ChangesContext value={place}>{children}</ChangesContext>;
}
