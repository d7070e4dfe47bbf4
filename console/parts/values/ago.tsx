import { useSyncExternalStore } from "react";
import { longTime, shortTime } from "../../text/time.ts";

/** Milliseconds between two looks at the clock. */
const pause = 15_000;

const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

function look(): void {
  for (const listener of listeners) listener();
}

/** One timer for all times of the page, and none while there are none or while it is not seen. */
function set(): void {
  const isNeeded = listeners.size > 0 && !document.hidden;
  if (isNeeded) timer ??= setInterval(look, pause);
  else {
    clearInterval(timer);
    timer = undefined;
  }
}

document.addEventListener("visibilitychange", () => {
  set();
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

/** How long ago something was, or when; it goes on with the clock. */
export function Ago({ at, className }: { at: string; className?: string }) {
  const text = useSyncExternalStore(subscribe, () => shortTime(at));
  return (
    <time dateTime={at} title={longTime(at)} className={className}>
      {text}
    </time>
  );
}
