/** What separates the fields of a file, by its name; `undefined`: it is no table. */
export function separatorOf(path: string): "," | ";" | "\t" | undefined {
  const ending = path.split(".").at(-1)?.toLowerCase();
  return ending === "csv" ? "," : ending === "tsv" ? "\t" : undefined;
}

/** The first rows of a text of separated values, as RFC 4180 has them; where a quote is never closed it is a letter like any other. */
export function rowsOf(
  text: string,
  separator: "," | ";" | "\t",
  maxRows: number,
): { rows: string[][]; isWhole: boolean } {
  const by = separator === "," ? commonOf(text) : separator;
  const rows: string[][] = [];
  let at = text.startsWith("\uFEFF") ? 1 : 0;
  while (at < text.length && rows.length < maxRows) {
    const row: string[] = [];
    let isRow = true;
    while (isRow) {
      const field = fieldAt(text, at, by);
      row.push(field.value);
      isRow = text[field.end] === by;
      at = field.end + 1;
      if (text[field.end] === "\r" && text[at] === "\n") at += 1;
    }
    rows.push(row);
  }
  return { rows, isWhole: at >= text.length };
}

/** Programs whose decimals have commas separate with semicolons: what the first line has more of. */
function commonOf(text: string): "," | ";" {
  const [line = ""] = text.split("\n", 1);
  return line.split(";").length > line.split(",").length ? ";" : ",";
}

const plain = { ",": /[^,\r\n]*/uy, ";": /[^;\r\n]*/uy, "\t": /[^\t\r\n]*/uy };

/** A field and where it ends. */
function fieldAt(text: string, at: number, by: "," | ";" | "\t"): { value: string; end: number } {
  const end = text[at] === '"' ? closingQuote(text, at) + 1 : 0;
  if (end > 0 && (end === text.length || [by, "\r", "\n"].includes(text.charAt(end)))) {
    return { value: text.slice(at + 1, end - 1).replaceAll('""', '"'), end };
  }
  const pattern = plain[by];
  pattern.lastIndex = at;
  const value = pattern.exec(text)?.[0] ?? "";
  return { value, end: at + value.length };
}

/** Where a quote is closed; two of them stand for one. -1: nowhere. */
function closingQuote(text: string, opening: number): number {
  let at = text.indexOf('"', opening + 1);
  while (at >= 0 && text[at + 1] === '"') at = text.indexOf('"', at + 2);
  return at;
}
