import { cutToTokens } from "../../../src/context/assembler.ts";
import { netlistFacts, readNetlist } from "../netlist/netlist.ts";
import { countText } from "../../../src/context/tokens/tokens.ts";

/** Token limits: up to the first a file is shown whole, from the second by structure. */
const [wholeTokens, structureTokens] = [2000, 8000];
/** Tokens of beginning and end shown with the structure, and lines of the structure. */
const [besideTokens, maxLines] = [1000, 60];

/** A line that starts a section: a heading, a definition, a sub-circuit or a model. */
const beginsPart =
  /^(?:#{1,6} |\s*(?:export |public |private |async |static )*(?:class|interface|function|def|fn|struct|enum|type|module)\s+\w|\s*\.(?:subckt|model)\s)/iu;
const spiceEndings = /\.(?:cir|sp|spice|sub|inc|lib|net)$/iu;

/** An excerpt of a file; `facts` describe its structure, if known. */
export interface FileExcerpt {
  facts: string[];
  text: string;
}

/**
 * A file by size: below 2,000 tokens whole; below 8,000 beginning and end; above that its structure with line numbers
 * and shorter ends. Partly shown circuits list their components.
 */
export function fileExcerpt(path: string, text: string): FileExcerpt {
  const tokens = countText(text);
  if (tokens < wholeTokens) return { facts: [], text };
  const facts = spiceEndings.test(path) ? netlistFacts(readNetlist(text)) : [];
  if (tokens <= structureTokens) return { facts, text: cutToTokens(text, wholeTokens) };
  return { facts: [...facts, ...structureOf(text)], text: cutToTokens(text, besideTokens) };
}

function structureOf(text: string): string[] {
  const lines = text.split(/\r?\n/u);
  const parts = lines.flatMap((line, index) =>
    beginsPart.test(line.slice(0, 200)) ? [`${index + 1}: ${line.trim().slice(0, 120)}`] : [],
  );
  const shown = parts.slice(0, maxLines);
  const more = parts.length > shown.length ? [`[… ${parts.length - shown.length} more parts …]`] : [];
  return [`${lines.length} lines${shown.length === 0 ? "" : "; its parts by their lines:"}`, ...shown, ...more];
}
