/** What has a colour in a netlist of SPICE; the groups are called as the highlighter of the other languages calls them. */
const parts = new RegExp(
  [
    // The first line is the title, where it is no part: those have a digit in their name as a rule.
    String.raw`(?<comment>(?<![^])[a-z]+(?:[ \t].*)?$|^[ \t]*\*.*|;.*|\$ .*)`,
    String.raw`(?<keyword>^[ \t]*\.[a-z]\w*)`,
    String.raw`(?<typeName>^[a-z]\w*)`,
    String.raw`(?<string>"[^"\n]*"|'[^'\n]*')`,
    String.raw`(?<propertyName>\b[a-z_]\w*(?=[ \t]*=))`,
    String.raw`(?<number>(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?[a-zµΩ]*(?!\w))`,
  ].join("|"),
  "gimu",
);

/** Calls `paint` for each piece of a netlist that has a colour, from the first to the last. */
export function paintNetlist(text: string, paint: (from: number, to: number, classes: string) => void): void {
  for (const { index, 0: words, groups = {} } of text.matchAll(parts)) {
    const [kind] = Object.entries(groups).find(([, found]) => found !== undefined) ?? [];
    paint(index, index + words.length, `tok-${kind}`);
  }
}
