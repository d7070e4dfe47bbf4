/** How small and how large a drawing gets, how large where all of it is shown, and the room that is left around it then. */
const [least, most, largestFit, room] = [0.02, 2, 1.1, 1.12];
/** Pixels after which a pressed pointer drags. */
const dragged = 4;
/** Pixels between the dots behind a drawing. */
const gap = 20;

interface Point {
  x: number;
  y: number;
}

/** A drawing that is dragged and zoomed within its frame. */
export interface Movable {
  /** Shows all of a drawing of that size, and does so again when the frame changes, until a person moves it. */
  fit(size: { width: number; height: number }): void;
  /** Makes it larger, or smaller, around the middle of its frame. */
  zoom(by: number): void;
  close(): void;
}

/**
 * Makes `plane` movable within `frame`: by dragging, by two fingers, by a double click, and by the wheel with Ctrl, which is what a
 * touchpad sends when two fingers part. `onPress` gets the element that was pressed without being dragged.
 */
export function makeMovable(frame: HTMLElement, plane: HTMLElement, onPress: (element: Element) => void): Movable {
  const place = { x: 0, y: 0, scale: 1 };
  let size = { width: 0, height: 0 };
  let isMoved = false;
  const show = (): void => {
    const { x, y, scale } = place;
    plane.style.transform = `translate(${x}px,${y}px) scale(${scale})`;
    frame.style.backgroundPosition = `${x}px ${y}px`;
    // Dots that came too close to each other would be a grey plane.
    const dots = gap * scale * 2 ** Math.max(0, Math.ceil(-Math.log2(scale)));
    frame.style.backgroundSize = `${dots}px ${dots}px`;
  };
  const fit = (): void => {
    const { clientWidth, clientHeight } = frame;
    if (clientWidth === 0 || size.width === 0) return;
    const scale = Math.min(clientWidth / (size.width * room), clientHeight / (size.height * room), largestFit);
    place.scale = Math.max(least, scale);
    place.x = (clientWidth - size.width * place.scale) / 2;
    place.y = (clientHeight - size.height * place.scale) / 2;
    show();
  };
  const zoomAt = ({ x, y }: Point, by: number): void => {
    const scale = Math.min(most, Math.max(least, place.scale * by));
    place.x = x - ((x - place.x) * scale) / place.scale;
    place.y = y - ((y - place.y) * scale) / place.scale;
    place.scale = scale;
    isMoved = true;
    show();
  };
  const move = (by: Point): void => {
    place.x += by.x;
    place.y += by.y;
    isMoved = true;
    show();
  };
  const end = listen(frame, { zoomAt, move, onPress });
  const watch = new ResizeObserver(() => {
    if (!isMoved) fit();
  });
  watch.observe(frame);
  return {
    fit(next) {
      size = next;
      isMoved = false;
      fit();
    },
    zoom: (by) => zoomAt({ x: frame.clientWidth / 2, y: frame.clientHeight / 2 }, by),
    close() {
      end.abort();
      watch.disconnect();
    },
  };
}

interface Moves {
  zoomAt: (point: Point, by: number) => void;
  move: (by: Point) => void;
  onPress: (element: Element) => void;
}

/** Follows pointers and the wheel until the result is aborted. */
function listen(frame: HTMLElement, moves: Moves): AbortController {
  const end = new AbortController();
  const pointAt = ({ clientX, clientY }: MouseEvent): Point => {
    const { left, top } = frame.getBoundingClientRect();
    return { x: clientX - left, y: clientY - top };
  };
  listenToPointers(frame, moves, pointAt, end.signal);
  const doubled = (event: MouseEvent): void => {
    if (!onButton(event)) moves.zoomAt(pointAt(event), event.shiftKey ? 1 / 2 : 2);
  };
  const wheeled = (event: WheelEvent): void => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const step = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? 0.01 : 0.2;
    moves.zoomAt(pointAt(event), 2 ** (-event.deltaY * step));
  };
  frame.addEventListener("dblclick", doubled, { signal: end.signal });
  frame.addEventListener("wheel", wheeled, { signal: end.signal, passive: false });
  return end;
}

/** One pointer drags, two make it larger or smaller, and what is neither presses. */
function listenToPointers(
  frame: HTMLElement,
  { zoomAt, move, onPress }: Moves,
  pointAt: (event: MouseEvent) => Point,
  signal: AbortSignal,
): void {
  const pointers = new Map<number, Point>();
  let isDragged = false;
  const pressed = (event: PointerEvent): void => {
    if (event.button !== 0 || onButton(event)) return;
    isDragged = pointers.size > 0;
    pointers.set(event.pointerId, pointAt(event));
  };
  const moved = (event: PointerEvent): void => {
    const before = pointers.get(event.pointerId);
    if (before === undefined) return;
    const now = pointAt(event);
    if (!isDragged && distance(before, now) < dragged) return;
    isDragged = true;
    // So that it goes on outside of the frame.
    frame.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, now);
    const [other] = [...pointers].flatMap(([id, point]) => (id === event.pointerId ? [] : [point]));
    if (other === undefined) move({ x: now.x - before.x, y: now.y - before.y });
    else zoomAt(other, distance(other, now) / Math.max(1, distance(other, before)));
  };
  const lifted = ({ pointerId }: PointerEvent): void => void pointers.delete(pointerId);
  const clicked = (event: MouseEvent): void => {
    if (!isDragged && !onButton(event) && event.target instanceof Element) onPress(event.target);
  };
  frame.addEventListener("pointerdown", pressed, { signal });
  frame.addEventListener("pointermove", moved, { signal });
  frame.addEventListener("pointerup", lifted, { signal });
  frame.addEventListener("pointercancel", lifted, { signal });
  frame.addEventListener("click", clicked, { signal });
}

function onButton({ target }: Event): boolean {
  return target instanceof Element && target.closest("button") !== null;
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
