import { useEffect, type RefObject } from "react";

/** Marks places of a text that is being written, one of them as the one that is looked at, and brings that into sight. */
export function useMarks(
  field: RefObject<HTMLTextAreaElement | null>,
  places: readonly number[],
  length: number,
  here: number,
): void {
  useEffect(() => {
    // Behind the field lies its text once more, letter by letter.
    const drawn = field.current?.parentElement?.querySelector(".prompt-marks");
    if (!drawn || !("highlights" in CSS)) return undefined;
    const ranges = rangesOf(drawn, places, length);
    CSS.highlights.set("prompt-found", new Highlight(...ranges.filter((_, at) => at !== here)));
    const current = ranges[here];
    if (current !== undefined) {
      CSS.highlights.set("prompt-here", new Highlight(current));
      showIn(drawn.parentElement, current);
    }
    return () => {
      CSS.highlights.delete("prompt-found");
      CSS.highlights.delete("prompt-here");
    };
  }, [field, places, length, here]);
}

/** The places of a text as they are drawn; a place may go over several nodes. */
function rangesOf(root: Node, places: readonly number[], length: number): Range[] {
  const nodes: { node: Node; from: number; to: number }[] = [];
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(), from = 0; node !== null; node = texts.nextNode()) {
    const to = from + (node.nodeValue ?? "").length;
    nodes.push({ node, from, to });
    from = to;
  }
  return places.flatMap((place) => {
    const first = nodes.find(({ to }) => place < to);
    const last = nodes.find(({ to }) => place + length <= to);
    if (first === undefined || last === undefined) return [];
    const range = new Range();
    range.setStart(first.node, place - first.from);
    range.setEnd(last.node, place + length - last.from);
    return [range];
  });
}

/** Scrolls a box as little as is needed to see a part of it. */
function showIn(box: Element | null, part: Range): void {
  if (box === null) return;
  const seen = box.getBoundingClientRect();
  const { top, bottom } = part.getBoundingClientRect();
  if (top < seen.top || bottom > seen.bottom) box.scrollTop += top - seen.top - seen.height / 3;
}
