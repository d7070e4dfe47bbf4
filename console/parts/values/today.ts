import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** One timer for all that show a day, up to the next one where the person is or by UTC; none while there are none. */
function set(): void {
  clearTimeout(timer);
  if (listeners.size === 0) return;
  const now = Date.now();
  const next = Math.min(new Date(now).setHours(24, 0, 0, 0), new Date(now).setUTCHours(24, 0, 0, 0));
  timer = setTimeout(look, next - now);
}

function look(): void {
  for (const listener of listeners) listener();
  set();
}

// Timers stand still while a machine sleeps.
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) look();
});

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  set();
  return () => {
    listeners.delete(listener);
    set();
  };
}

/** The day that it is now, as `dayAt` counts days; it goes on with the clock. */
export function useToday(dayAt: (time: number) => string): string {
  return useSyncExternalStore(subscribe, () => dayAt(Date.now()));
}
