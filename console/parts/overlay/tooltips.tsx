import { useCallback, useEffect, useRef, useState } from "react";
import { overlays } from "./overlays.ts";

/** Milliseconds that a mouse rests on a control before it is named, and in which the next one is named at once. */
const rest = 500;
const stillRests = 300;

interface Shown {
  /** Each tooltip is a new one: what closes the one before does not close it. */
  id: number;
  anchor: HTMLElement;
  isFocused: boolean;
}

/** Names the control with `data-tooltip` that has the mouse or the focus. One for the whole page. */
export function Tooltips() {
  const [shown, setShown] = useState<Shown>();
  const current = useRef<Shown>(undefined);
  const last = useRef(0);
  const closedAt = useRef(Number.NEGATIVE_INFINITY);
  const views = overlays.useModule(shown !== undefined);
  const show = useCallback((next?: Omit<Shown, "id">) => {
    if (current.current !== undefined) closedAt.current = performance.now();
    last.current += 1;
    current.current = next && { ...next, id: last.current };
    setShown(current.current);
  }, []);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let under: HTMLElement | undefined;
    const controlOf = ({ target }: Event): HTMLElement | undefined =>
      (target instanceof Element && target.closest<HTMLElement>("[data-tooltip]")) || undefined;
    const onOver = (event: PointerEvent): void => {
      const control = event.pointerType === "mouse" ? controlOf(event) : undefined;
      // A control that has gone is left by no event.
      if (current.current?.anchor.isConnected === false) show();
      if (control === under) return;
      clearTimeout(timer);
      under = control;
      if (control === undefined) return;
      const isNext = current.current !== undefined || performance.now() - closedAt.current < stillRests;
      timer = setTimeout(() => show({ anchor: control, isFocused: false }), isNext ? 0 : rest);
    };
    const onFocus = (event: Event): void => {
      const control = controlOf(event);
      if (control?.matches(":focus-visible")) show({ anchor: control, isFocused: true });
    };
    const hide = (): void => {
      clearTimeout(timer);
      show();
    };
    const ending = new AbortController();
    const listening = { capture: true, signal: ending.signal };
    document.addEventListener("pointerover", onOver, listening);
    document.addEventListener("focusin", onFocus, listening);
    document.addEventListener("focusout", hide, listening);
    document.addEventListener("click", hide, listening);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [show]);
  if (shown === undefined || views === undefined) return null;
  const close = (): void => {
    if (current.current?.id === shown.id) show();
  };
  return <views.TooltipView key={shown.id} anchor={shown.anchor} isFocused={shown.isFocused} onClose={close} />;
}
