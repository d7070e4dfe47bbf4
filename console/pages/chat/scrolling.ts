import { createContext, use, useEffect, useState } from "react";

/** Milliseconds without a movement after which a list rests. */
const rest = 120;

/** Whether somebody scrolls a list: what is only needed where it rests is drawn then. */
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
