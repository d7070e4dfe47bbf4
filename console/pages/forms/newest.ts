import { useEffect, useRef, type RefObject } from "react";

/** A value as it was drawn last, for work that ends later than it began: the user may have typed more meanwhile. */
export function useNewest<Value>(value: Value): Readonly<RefObject<Value>> {
  const newest = useRef(value);
  useEffect(() => {
    newest.current = value;
  });
  return newest;
}
