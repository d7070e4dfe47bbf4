import { useEffect } from "react";

/** Marks a text wherever it stands among the messages that are drawn; they stay as they are. */
export function useHighlight(words: string): void {
  useEffect(() => {
    const log = document.querySelector(".conversation");
    if (words === "" || log === null || !("highlights" in CSS)) return undefined;
    const mark = (): void => void CSS.highlights.set("found", new Highlight(...rangesOf(log, words.toLowerCase())));
    const observer = new MutationObserver(mark);
    observer.observe(log, { subtree: true, childList: true, characterData: true });
    mark();
    return () => {
      observer.disconnect();
      CSS.highlights.delete("found");
    };
  }, [words]);
}

function rangesOf(root: Node, wanted: string): Range[] {
  const ranges: Range[] = [];
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const text = node.nodeValue ?? "";
    const lower = text.toLowerCase();
    // A few letters get longer: their places are not those of the text any more.
    if (lower.length !== text.length) continue;
    for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(node, at);
      range.setEnd(node, at + wanted.length);
      ranges.push(range);
    }
  }
  return ranges;
}
