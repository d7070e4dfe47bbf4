import { createContext, use, useEffect, useState } from "react";

/** Milliseconds without a movement after which a list rests. */
const rest = 120;

/** Whether the user scrolls a list: what is only needed where it rests is drawn then. */
export class Scrolling {
  isMoving = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #waiting = new Set<() => void>();

  /** The list has been moved. */
  moved(): void {
    this.isMoving = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.isMoving = false;
      const waiting = [...this.#waiting];
      this.#waiting.clear();
      for (const listener of waiting) listener();
    }, rest);
  }

  /** Calls `listener` once when the list rests; the result takes that back. */
  whenRests(listener: () => void): () => void {
    this.#waiting.add(listener);
    return () => this.#waiting.delete(listener);
  }
}

/** The list around a component. */
export const ScrollingContext = createContext(new Scrolling());

/** Whether the list has rested since the component is there. */
export function useHasRested(): boolean {
  const scrolling = use(ScrollingContext);
  const [hasRested, setRested] = useState(() => !scrolling.isMoving);
  useEffect(() => (hasRested ? undefined : scrolling.whenRests(() => setRested(true))), [hasRested, scrolling]);
  return hasRested;
}

/** Milliseconds between two looks whether a list is where it should be, how often it has to be, and the most looks. */
const [pause, timesThere, maxLooks] = [100, 3, 100];

/** Whether a list shows a row. */
export function isWithin(range: { startIndex: number; endIndex: number } | null, index: number): boolean {
  return range !== null && range.startIndex <= index && index <= range.endIndex;
}

/**
 * Moves a list with `go`, which tells whether it was there already, until it stays there: rows that are loaded or measured
 * meanwhile can take it away again. It leaves off when the user scrolls. The result takes it back.
 */
export function keepTrying(list: HTMLElement | null, go: () => boolean): () => void {
  let [there, looks] = [0, 0];
  const ending = new AbortController();
  const timer = setInterval(look, pause);
  function leave(): void {
    clearInterval(timer);
    ending.abort();
  }
  function look(): void {
    there = go() ? there + 1 : 0;
    looks += 1;
    if (there === timesThere || looks === maxLooks) leave();
  }
  for (const event of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    list?.addEventListener(event, leave, { passive: true, signal: ending.signal });
  }
  look();
  return leave;
}
