import { findPandoc } from "../../write/pandoc.ts";

/** A text for a Word document, in HTML. */
export const html = `<!doctype html><html><head><title>Plan</title></head><body>
<h1>Plan for the mill</h1>
<p>The <strong>wheel</strong> turns <em>day and night</em>; see <a href="https://example.com/race">the race</a>.</p>
<h2>Work 工作</h2>
<ol><li>Clear the race</li><li>Grease the axle<ul><li>front</li><li>back</li></ul></li></ol>
<table><tr><th>Part</th><th>Price</th></tr><tr><td>Axle</td><td>120 €</td></tr><tr><td>Belt</td><td>35 €</td></tr></table>
<p>Chinese: 水车日夜转动。</p>
</body></html>`;

/** The same text in Markdown. */
export const markdown = `# Plan for the mill

The **wheel** turns *day and night*; see [the race](https://example.com/race).

## Work 工作

1. Clear the race
2. Grease the axle
   - front
   - back

| Part | Price |
| --- | --- |
| Axle | 120 € |
| Belt | 35 € |

Chinese: 水车日夜转动。
`;

/** The lines of the document, in order, by every converter. */
export const lines = [
  /^# Plan for the mill$/mu,
  /The \*\*wheel\*\* turns _day and night_; see \[the race\]\(https:\/\/example\.com\/race\)\./u,
  /^## Work 工作$/mu,
  /^1\.\s+Clear the race$/mu,
  /^2\.\s+Grease the axle$/mu,
  /^\s+- +front$/mu,
  /^\s+- +back$/mu,
  /^\| \**Part\** \| \**Price\** \|$/mu,
  /^\| --- \| --- \|$/mu,
  /^\| Axle \| 120 € \|$/mu,
  /^\| Belt \| 35 € \|$/mu,
  /^Chinese: 水车日夜转动。$/mu,
];

/** The lines that are missing in a text, or not in this order. */
export function missingLines(text: string, patterns: readonly RegExp[] = lines): string[] {
  let from = 0;
  return patterns.flatMap((pattern) => {
    const found = pattern.exec(text.slice(from));
    if (found === null) return [String(pattern)];
    from += found.index + found[0].length;
    return [];
  });
}

/** A signal that does not abort. */
export const { signal } = new AbortController();
/** The path of pandoc, where it is installed. */
export const pandoc = await findPandoc();
/** No pandoc: the library makes the document. */
export const without = async (): Promise<undefined> => undefined;
/** The programs that make documents; without pandoc there is only one, which need not be tried twice. */
export const makers: [string, () => Promise<string | undefined>][] =
  pandoc === undefined
    ? [["the library", without]]
    : [
        ["the library", without],
        ["pandoc", findPandoc],
      ];
