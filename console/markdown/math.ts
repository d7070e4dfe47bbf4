import type { InlineContext, MarkdownConfig } from "@lezer/markdown";

const dollar = 36;
const backslash = 92;
/** Characters within which a formula in a paragraph ends, so that a text of beginnings alone costs little. */
const nearest = 1_000;

/** The ends of a formula within a line, by how it begins. */
const inlineEnds: Record<string, string> = { "\\(": "\\)", "\\[": "\\]", $$: "$$" };

/** Where the formula that begins at `position` ends, if one does. */
function endOf(context: InlineContext, next: number, position: number): number {
  const two = context.slice(position, position + 2);
  const close = inlineEnds[two];
  if (close !== undefined) return endAfter(context, position + 2, close);
  if (next !== dollar || /^\$\s/u.test(two)) return -1;
  // A mark after a blank or before a digit ends nothing, so that sums of money stay words.
  for (let at = position + 1; at < Math.min(context.end, position + nearest); at += 1) {
    const code = context.char(at);
    if (code === backslash) at += 1;
    else if (code === dollar) {
      const isEnd = !/\s/u.test(context.slice(at - 1, at)) && !/\d/u.test(context.slice(at + 1, at + 2));
      return isEnd && at > position + 1 ? at + 1 : -1;
    }
  }
  return -1;
}

function endAfter(context: InlineContext, from: number, close: string): number {
  const at = context.slice(from, Math.min(context.end, from + nearest)).indexOf(close);
  return at <= 0 ? -1 : from + at + close.length;
}

/** Formulas as models write them: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` by themselves. */
export const formulas: MarkdownConfig = {
  defineNodes: [{ name: "Formula" }, { name: "FormulaBlock", block: true }],
  parseInline: [
    {
      name: "Formula",
      before: "Escape",
      parse(context, next, position) {
        if (next !== dollar && next !== backslash) return -1;
        const end = endOf(context, next, position);
        return end < 0 ? -1 : context.addElement(context.elt("Formula", position, end));
      },
    },
  ],
  parseBlock: [
    {
      name: "FormulaBlock",
      before: "FencedCode",
      parse(context, line) {
        const open = /^(?:\$\$|\\\[)/u.exec(line.text.slice(line.pos))?.[0];
        if (open === undefined) return false;
        const close = open === "$$" ? "$$" : "\\]";
        const from = context.lineStart + line.pos;
        const rest = line.text.slice(line.pos + open.length);
        const at = rest.indexOf(close);
        // Words behind its end: it stands in a paragraph.
        if (at >= 0 && rest.slice(at + close.length).trim() !== "") return false;
        let isOver = at >= 0;
        let to = context.lineStart + line.text.length;
        while (context.nextLine() && !isOver) {
          to = context.lineStart + line.text.length;
          isOver = line.text.trimEnd().endsWith(close);
        }
        context.addElement(context.elt("FormulaBlock", from, to));
        return true;
      },
      endLeaf: (_, line) => /^(?:\$\$|\\\[)/u.test(line.text.slice(line.pos)),
    },
  ],
};

/** A formula without its marks; `undefined` while its end is missing. */
export function formulaIn(source: string): { text: string; isBlock: boolean } | undefined {
  const text = source.trim();
  const open = /^(?:\$\$|\\\[|\\\(|\$)/u.exec(text)?.[0] ?? "";
  const close = { $$: "$$", "\\[": "\\]", "\\(": "\\)", $: "$" }[open];
  if (close === undefined || text.length < open.length + close.length + 1 || !text.endsWith(close)) return undefined;
  return { text: text.slice(open.length, -close.length).trim(), isBlock: open === "$$" || open === "\\[" };
}
