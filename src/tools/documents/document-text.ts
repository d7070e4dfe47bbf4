/** The text of a document, mostly as Markdown, and what of the document is not in it. */
export interface DocumentText {
  text: string;
  left_out: string[];
}

/** "1 picture", "2 pictures"; nothing for none. */
export function counted(count: number, what: string): string[] {
  return count === 0 ? [] : [`${count} ${what}${count === 1 ? "" : "s"}`];
}
