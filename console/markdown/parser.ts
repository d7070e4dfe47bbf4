import { TreeFragment, type Tree } from "@lezer/common";
import { GFM, parser as base, type InlineContext, type MarkdownConfig } from "@lezer/markdown";
import { formulas } from "./math.ts";

/** Characters of Chinese, Japanese and Korean, their punctuation included. */
const cjk =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303F\uFF00-\uFFEF\u2018-\u201D]/u;
const punctuation = /[\p{S}\p{P}]/u;
const blank = /^$|\s/u;

/** What is used of the parser that its types do not tell; it is pinned. */
interface Internals {
  inlineNames: string[];
  inlineParsers: ((context: InlineContext, next: number, position: number) => number)[];
}
interface Parts {
  parts: ({ side: number } | null)[];
}
const opens = 1;
const closes = 2;

// The package declares less than it has.
const { inlineNames, inlineParsers } = base as unknown as Internals;
const usual = inlineParsers[inlineNames.indexOf("Emphasis")];
const asterisk = 42;

/**
 * Emphasis beside Chinese: there is no blank between words, so that `**“重要”**的` would be no emphasis by the usual rule,
 * which takes the mark before a letter and after a quote for a beginning.
 */
const emphasisBesideCjk: MarkdownConfig = {
  parseInline: [
    {
      name: "Emphasis",
      parse(context, next, position) {
        const end = usual?.(context, next, position) ?? -1;
        if (end < 0 || next !== asterisk) return end;
        const before = context.slice(position - 1, position);
        const after = context.slice(end, end + 1);
        const part = (context as unknown as Parts).parts.at(-1);
        if (!part || (!cjk.test(before) && !cjk.test(after))) return end;
        const isHard = (character: string) => punctuation.test(character) && !cjk.test(character);
        const leads =
          !blank.test(after) && (!isHard(after) || blank.test(before) || punctuation.test(before) || cjk.test(before));
        const trails =
          !blank.test(before) && (!isHard(before) || blank.test(after) || punctuation.test(after) || cjk.test(after));
        part.side = (leads ? opens : 0) | (trails ? closes : 0);
        return end;
      },
    },
  ],
};

/** Markdown as models write it: GitHub's tables, tasks, strikethrough and links, formulas, and emphasis beside Chinese. */
export const parser = base.configure([GFM, emphasisBesideCjk, formulas]);

/** A top-level block. `depth`: headings that a heading stands below, whatever levels a model has left out. */
export interface BlockSource {
  source: string;
  from: number;
  depth: number;
}

/** A text that was parsed, so that a longer one costs what was added. */
export interface Parsed {
  text: string;
  tree: Tree;
}

/** Parses a text; where it begins as the one before, only what follows is read anew. */
export function parse(text: string, before?: Parsed): Parsed {
  if (before === undefined) return { text, tree: parser.parse(text) };
  const same = commonStart(before.text, text);
  const change = { fromA: same, toA: before.text.length, fromB: same, toB: text.length };
  const fragments = TreeFragment.applyChanges(TreeFragment.addTree(before.tree), [change]);
  return { text, tree: parser.parse(text, fragments) };
}

/** Parses one text after the other, each with the help of the one before. */
export function growingParser(): (text: string) => Parsed {
  let before: Parsed | undefined;
  return (text) => (before = parse(text, before));
}

function commonStart(one: string, other: string): number {
  if (other.startsWith(one)) return one.length;
  const shorter = Math.min(one.length, other.length);
  let length = 0;
  while (length < shorter && one.charCodeAt(length) === other.charCodeAt(length)) length += 1;
  return length;
}

/** The top-level blocks of a parsed text. */
export function blocksOf({ text, tree }: Parsed): BlockSource[] {
  const blocks: BlockSource[] = [];
  const above: number[] = [];
  for (let node = tree.topNode.firstChild; node !== null; node = node.nextSibling) {
    const rank = Number(/Heading(\d)$/u.exec(node.name)?.[1] ?? 0);
    while (rank > 0 && (above.at(-1) ?? 0) >= rank) above.pop();
    const source = text.slice(node.from, node.to);
    blocks.push({ source, from: node.from, depth: rank === 0 ? 0 : above.length });
    if (rank > 0) above.push(rank);
  }
  return blocks;
}

/** Where the names of links in a text lead: `[name]: address`. */
export function definitionsOf({ text, tree }: Parsed): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  tree.iterate({
    enter(node) {
      if (node.name !== "LinkReference") return;
      const label = node.node.getChild("LinkLabel");
      const address = node.node.getChild("URL");
      if (label === null || address === null) return;
      const name = text
        .slice(label.from + 1, label.to - 1)
        .trim()
        .toLowerCase();
      if (!found.has(name)) found.set(name, text.slice(address.from, address.to));
    },
  });
  return found;
}
