import { useRef, type PointerEvent } from "react";

/** Pixels that a press may move and still be one. */
const still = 4;

/** What lets a mouse drag what an element shows; a finger and the arrow keys do so by themselves. */
export function useDragScroll() {
  const pressed = useRef<{ x: number; y: number; left: number; top: number }>(undefined);
  const end = () => {
    pressed.current = undefined;
  };
  return {
    onPointerDown: ({ currentTarget, pointerType, clientX: x, clientY: y }: PointerEvent<HTMLElement>) => {
      const { scrollLeft: left, scrollTop: top } = currentTarget;
      if (pointerType === "mouse") pressed.current = { x, y, left, top };
    },
    onPointerMove: ({ currentTarget, pointerId, clientX, clientY }: PointerEvent<HTMLElement>) => {
      const { current: press } = pressed;
      if (press === undefined) return;
      const [across, down] = [clientX - press.x, clientY - press.y];
      if (!currentTarget.hasPointerCapture(pointerId)) {
        if (Math.hypot(across, down) < still) return;
        // From here on it is no press of what lies below.
        currentTarget.setPointerCapture(pointerId);
      }
      currentTarget.scrollTo(press.left - across, press.top - down);
    },
    onPointerUp: end,
    onPointerCancel: end,
  };
}
