/** Whether a text ends inside of a fenced block. */
function isInFence(text: string): boolean {
  let fence: string | undefined;
  for (const line of text.split("\n")) {
    const mark = /^ {0,3}(`{3,}|~{3,})/u.exec(line)?.[1];
    if (mark === undefined) continue;
    if (fence === undefined) fence = mark;
    else if (mark.startsWith(fence) && line.trim() === mark) fence = undefined;
  }
  return fence !== undefined;
}

const openMarks = ["**", "~~", "*"] as const;

/**
 * A text that is still being written, as it shall look: `**bo` is shown bold, `[words](htt` as its words. What is not at
 * the end stays as it is.
 */
export function settled(text: string): string {
  if (isInFence(text)) return text;
  const start = text.lastIndexOf("\n\n") + 1;
  let tail = text.slice(start);
  if ((tail.match(/`/gu)?.length ?? 0) % 2 === 1) {
    return tail.endsWith("`") ? text.slice(0, -1) : `${text}\``;
  }
  const link = /!?\[([^\][]*)(?:\]\([^()\s]*)?$/u.exec(tail);
  if (link !== null) tail = `${tail.slice(0, link.index)}${link[1] ?? ""}`;
  for (const mark of openMarks) {
    const escaped = mark.replaceAll("*", String.raw`\*`);
    const pattern = mark === "*" ? /(?<![*\\])\*(?!\*)/gu : new RegExp(escaped, "gu");
    const places = [...tail.matchAll(pattern)].filter(
      ({ index }) =>
        mark !== "*" ||
        !/^\s*$/u.test(tail.slice(tail.lastIndexOf("\n", index) + 1, index)) ||
        !/^\s/u.test(tail.slice(index + 1)),
    );
    if (places.length % 2 === 0) continue;
    const last = places.at(-1)?.index ?? 0;
    const after = tail.slice(last + mark.length);
    if (after.trim() === "") return text.slice(0, start) + tail.slice(0, last);
    if (!/^\s/u.test(after)) tail = `${tail.trimEnd()}${mark}`;
  }
  return text.slice(0, start) + tail;
}
