/** Code as it was written, words of a link or a picture, and pairs of single marks: their words go on as groups. */
const parts = [
  "\\\\(?<escaped>[\\\\*_[\\]#~>|`])",
  "```[\\w+-]*\\s(?<block>.*?)(?:```|$)",
  "(?<ticks>`+)(?<code>.+?)(?:(?<!`)\\k<ticks>(?!`)|$)",
  String.raw`!?\[(?<label>[^\]]*)\]\((?:[^()]|\([^()]*\))*(?:\)|$)`,
  String.raw`<(?<address>https?:[^\s>]*)(?:>|$)`,
  String.raw`(?<![\w*/])\*(?=[^\s*.])(?<leaning>[^*]*[^\s*])\*(?![\w*])`,
  String.raw`(?<!\w)_(?=[^\s_])(?<underlined>[^_]*[^\s_])_(?!\w)`,
];
/** Marks that stand alone: `2 ** 3` and `2**3` are sums. The end of what they mark may be cut off. */
const lone = [
  String.raw`(?<!\w)\*{2,3}(?=[^\s*]|$)`,
  String.raw`(?<=[^\s*])\*{2,3}(?!\w)`,
  String.raw`(?<!\w)~~(?=\S)`,
  String.raw`(?<=\S)~~(?!\w)`,
  String.raw`(?<=\s)#{2,6}\s`,
  String.raw`(?<=:\s)[-*+]\s`,
];
const marked = new RegExp([...parts, ...lone].join("|"), "gu");
const atBegin = /^\s*(?:(?:#{1,6}|>|[-*+](?: \[[ x]\])?)\s)+/u;

/**
 * A line of Markdown without its marks. It may be cut off anywhere, and stands for several lines, so that the parser
 * of whole texts would not know it; the list of chats, which the first view needs, does without that parser, too.
 */
export function plainLine(markdown: string): string {
  return withoutMarks(markdown.replace(atBegin, ""));
}

function withoutMarks(line: string): string {
  return line.replaceAll(marked, (...found: unknown[]) => {
    // The groups come last.
    const groups = found.at(-1) as Partial<Record<string, string>>;
    const { escaped, block, code, label, address, leaning, underlined } = groups;
    return escaped ?? block ?? code ?? address ?? withoutMarks(label ?? leaning ?? underlined ?? "");
  });
}
