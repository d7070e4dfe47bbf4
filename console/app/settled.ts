import { useEffect, useState } from "react";

/** Milliseconds without a key after which one counts as having typed. */
const pause = 300;

/** A text that is being typed, debounced: what it is needed for costs a request. An empty text, or none, counts at once. */
export function useSettled<Text extends string | undefined>(text: Text): Text {
  const [settled, setSettled] = useState(text);
  const isNone = text === undefined || text === "";
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), isNone ? 0 : pause);
    return () => clearTimeout(timer);
  }, [text, isNone]);
  return isNone ? text : settled;
}
