import { marks } from "./marks.ts";
import { parser } from "./parser.ts";

/** What has words beside its address. */
const withWords = new Set(["Link", "Image"]);

/** The words of a text in Markdown without its marks, as they are read out. */
export function plainText(markdown: string): string {
  let words = "";
  let at = 0;
  parser.parse(markdown).iterate({
    enter({ name, from, to, node }) {
      // An address that stands for itself is one of the words.
      if (!marks.has(name) && (name !== "URL" || !withWords.has(node.parent?.name ?? ""))) return;
      words += markdown.slice(at, from);
      at = Math.max(at, to);
    },
  });
  return (words + markdown.slice(at)).replaceAll(/[ \t]+/gu, " ").trim();
}
