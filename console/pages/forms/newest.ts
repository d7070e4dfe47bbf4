import { useEffect, useRef, type RefObject } from "react";

/** A value as it was drawn last, for what ends later than it began: somebody may have written more meanwhile. */
export function useNewest<Value>(value: Value): Readonly<RefObject<Value>> {
  const newest = useRef(value);
  useEffect(() => {
    newest.current = value;
  });
  return newest;
}
