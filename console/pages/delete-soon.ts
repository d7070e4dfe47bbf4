import { useSyncExternalStore } from "react";
import { deleteThread } from "../api/threads.ts";
import { notify, notifyError } from "../parts/toast.tsx";

/** Milliseconds in which a deletion can be taken back: it is asked of the server only then. */
const grace = 10_000;
const timers = new Map<string, ReturnType<typeof setTimeout>>();
let deleting: ReadonlySet<string> = new Set();
const listeners = new Set<() => void>();

function change(): void {
  deleting = new Set(timers.keys());
  for (const listener of listeners) listener();
}

function finish(id: string): void {
  deleteThread(id)
    .catch(notifyError)
    .finally(() => {
      timers.delete(id);
      change();
    });
}

/** Hides a thread at once and deletes it after ten seconds, unless that is taken back. */
export function deleteSoon(id: string, words: { text: string; takeBack: string }): void {
  // It may be deleted again from its own page: the former timer would then delete it also after this is taken back.
  clearTimeout(timers.get(id));
  timers.set(
    id,
    setTimeout(() => finish(id), grace),
  );
  change();
  notify(words.text, {
    milliseconds: grace,
    action: {
      label: words.takeBack,
      run: () => {
        clearTimeout(timers.get(id));
        timers.delete(id);
        change();
      },
    },
  });
}

// After leaving the page nothing can be taken back.
addEventListener("pagehide", () => {
  for (const [id, timer] of timers) {
    clearTimeout(timer);
    finish(id);
  }
});

/** Threads that are about to be deleted. */
export function useDeleting(): ReadonlySet<string> {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => deleting,
  );
}
