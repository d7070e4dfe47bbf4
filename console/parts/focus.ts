import { useEffect, useRef } from "react";

/** As the `ref` of a field that the user asked for: it has the focus from the beginning. */
export function focusAtFirst(element: HTMLElement | null): void {
  element?.focus();
}

/** What had the focus last, in which item, and the place of that. */
interface Held {
  focused: Element;
  item: Element;
  at: number;
}

/**
 * Keeps the focus where things go away. Where what has it is taken out of the page, the item of a list around it gets it; where
 * that is gone too, the one that follows, else the one before, else what `otherwise` names. `staysOut`: not one beside it,
 * where the key that made it go would do the same there.
 */
export function useKeptFocus(items: string, otherwise: string, staysOut = false): void {
  const held = useRef<Held>(undefined);
  useEffect(() => {
    const onFocus = ({ target }: FocusEvent) => {
      if (!(target instanceof Element)) return;
      const item = target.closest(items);
      if (item !== null) {
        held.current = { focused: target, item, at: [...document.querySelectorAll(items)].indexOf(item) };
      } else if (held.current !== undefined && target.closest("[role=menu]") !== null) {
        // The menu of an item stands elsewhere in the page.
        held.current = { ...held.current, focused: target };
      } else held.current = undefined;
    };
    const onPointerDown = ({ target }: PointerEvent) => {
      if (target instanceof Element && target.closest(`${items}, [role=menu]`) === null) held.current = undefined;
    };
    document.addEventListener("focusin", onFocus);
    document.addEventListener("pointerdown", onPointerDown);
    return () => {
      document.removeEventListener("focusin", onFocus);
      document.removeEventListener("pointerdown", onPointerDown);
    };
  }, [items]);
  useEffect(() => {
    const { current } = held;
    if (current === undefined || current.focused.isConnected || document.activeElement !== document.body) return;
    held.current = undefined;
    const all = [...document.querySelectorAll<HTMLElement>(items)];
    const beside = staysOut ? undefined : all[Math.min(current.at, all.length - 1)];
    const next = current.item.isConnected ? current.item : beside;
    const target = next === undefined ? document.querySelector<HTMLElement>(otherwise) : reachable(next);
    target?.focus({ preventScroll: true });
  });
}

/** What of an item takes the focus. */
function reachable(item: Element): HTMLElement | null {
  return item.matches("[tabindex]") && item instanceof HTMLElement
    ? item
    : item.querySelector<HTMLElement>("a, button");
}
