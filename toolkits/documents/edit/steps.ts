import type { Edit } from "../../../src/tools/files/apply-edits.ts";
import { cellBorder, type Line, lineText } from "./word-lines.ts";

/** A line and its change: without `text` it is removed, without `line` added. `was` is its current text. */
export interface Step {
  line?: Line;
  was: string;
  text?: string;
}

/** Unchanged lines. */
export function unchanged(lines: readonly Line[]): Step[] {
  return lines.map((line) => {
    const was = lineText(line);
    return { line, was, text: was };
  });
}

/** The resulting text. */
export function textOf(steps: readonly Step[]): string {
  return steps.map(({ text }) => (text === undefined ? "" : `${text}\n`)).join("");
}

/** The steps after an edit of their text. Lines it does not touch stay as they are. */
export function stepsAfter(steps: readonly Step[], { old_string, new_string }: Edit): Step[] {
  const after: Step[] = [];
  let open: Step[] = [];
  /** The text of the lines being edited, and the position up to which it is done. */
  let [text, from] = ["", 0];
  for (const step of steps) {
    open.push(step);
    if (step.text === undefined) continue;
    text += `${step.text}\n`;
    for (let at = text.indexOf(old_string, from); at !== -1; at = text.indexOf(old_string, from)) {
      text = text.slice(0, at) + new_string + text.slice(at + old_string.length);
      from = at + new_string.length;
    }
    // The match may start here and continue in the next line, or the edit has joined the two lines.
    const next = beginning(text, from, old_string);
    const end = next === text.length ? next : text.lastIndexOf("\n", next - 1) + 1;
    const isWhole = text === "" || (end > 0 && text[end - 1] === "\n");
    if (end < from || !isWhole) continue;
    const rest = text.slice(end);
    const left = linesFromEnd(open, rest.split("\n").length - 1);
    after.push(...stepsOf(open.slice(0, left), text.slice(0, end)));
    [open, text, from] = [open.slice(left), rest, from - end];
  }
  return [...after, ...stepsOf(open, text)];
}

/** The position at the end of a text where the wanted one may begin and continue beyond it; its length if none. */
function beginning(text: string, from: number, wanted: string): number {
  if (!wanted.includes("\n")) return text.length;
  for (let at = Math.max(from, text.length - wanted.length + 1); at < text.length; at += 1) {
    if (wanted.startsWith(text.slice(at))) return at;
  }
  return text.length;
}

/** The start of the last `count` non-empty lines. */
function linesFromEnd(steps: readonly Step[], count: number): number {
  let left = count;
  let at = steps.length;
  for (; left > 0 && at > 0; at -= 1) if (steps[at - 1]?.text !== undefined) left -= 1;
  return at;
}

/** The changes that make lines have `text` together. */
function stepsOf(open: readonly Step[], text: string): Step[] {
  const wanted = text.split("\n").flatMap((line) => line.trim().replaceAll(/\s+/gu, " ") || []);
  if (open.length === 1 && open[0]?.text === wanted[0] && wanted.length === 1) return [...open];
  const lasting = open.filter(({ line, text: newText }) => line !== undefined && newText !== undefined);
  const lost = open.filter(({ line, text: newText }) => line !== undefined && newText === undefined);
  const steps = paired(lasting, wanted);
  // Lines removed earlier stay among the remaining ones, in document order.
  for (const step of lost) {
    const next = steps.findIndex(({ line }) => (line?.start ?? -1) > (step.line?.start ?? 0));
    steps.splice(next === -1 ? steps.length : next, 0, step);
  }
  return steps;
}

/** Maximum lines compared with each other; beyond it, lines are paired by position. */
const maxCompared = 100;

/** Pairs old and new lines in order, maximising similarity. */
function paired(gone: readonly Step[], come: readonly string[]): Step[] {
  const becomes = (step: Step, text: string): Step => ({ ...step, text });
  const goes = ({ line, was }: Step): Step => (line === undefined ? { was } : { line, was });
  const comes = (text: string): Step => ({ was: "", text });
  if (gone.length === come.length || gone.length > maxCompared || come.length > maxCompared) {
    return Array.from({ length: Math.max(gone.length, come.length) }, (_, at): Step[] => {
      const [step, text] = [gone[at], come[at]];
      if (step !== undefined && text !== undefined && canBecome(step, text)) return [becomes(step, text)];
      return [...(text === undefined ? [] : [comes(text)]), ...(step === undefined ? [] : [goes(step)])];
    }).flat();
  }
  /** Dynamic programming over the remaining lines of both: the best similarity. */
  const best = Array.from({ length: gone.length + 1 }, () => Array<number>(come.length + 1).fill(0));
  const at = (i: number, j: number): number => best[i]?.[j] ?? 0;
  const alike = gone.map((step) =>
    come.map((text) => (canBecome(step, text) ? 0.01 + likeness(step.text ?? "", text) : 0)),
  );
  const pair = (i: number, j: number): number => at(i + 1, j + 1) + (alike[i]?.[j] ?? 0);
  for (let i = gone.length - 1; i >= 0; i -= 1) {
    const row = best[i] ?? [];
    for (let j = come.length - 1; j >= 0; j -= 1) row[j] = Math.max(pair(i, j), at(i + 1, j), at(i, j + 1));
  }
  const steps: Step[] = [];
  let [i, j] = [0, 0];
  for (let step = gone[i], text = come[j]; step !== undefined && text !== undefined; step = gone[i], text = come[j]) {
    if ((alike[i]?.[j] ?? 0) > 0 && pair(i, j) === at(i, j)) {
      steps.push(becomes(step, text));
      [i, j] = [i + 1, j + 1];
    } else if (at(i + 1, j) === at(i, j)) {
      steps.push(goes(step));
      i += 1;
    } else {
      steps.push(comes(text));
      j += 1;
    }
  }
  return [...steps, ...gone.slice(i).map(goes), ...come.slice(j).map(comes)];
}

/** The share of common words of two lines, from 0 to 1; identical lines score more. */
function likeness(one: string, other: string): number {
  if (one === other) return 2;
  const [some, others] = [one, other].map((text) => new Set(text.match(/\p{sc=Han}|[\p{L}\p{N}]+/gu)));
  if (some === undefined || others === undefined || some.size + others.size === 0) return 0;
  return (2 * some.intersection(others).size) / (some.size + others.size);
}

/** The mark of a heading or list item. */
export const markPattern = /^(?:#{1,6} |- )/u;
/** Whether a text is a table row. */
export const isRow = (text: string): boolean => text.startsWith(`${cellBorder} `) && text.endsWith(` ${cellBorder}`);
/** The cells of a row. */
export const cellsOf = (text: string): string[] =>
  text
    .split(cellBorder)
    .slice(1, -1)
    .map((cell) => cell.trim());

/** Whether a line can be changed to this text in place. */
function canBecome({ line, was }: Step, text: string): boolean {
  if (line?.kind === "row") return isRow(text) && cellsOf(text).length === line.cells.length;
  if (isRow(text) || line === undefined) return false;
  return markPattern.exec(text)?.[0] === (line.mark === "" ? markPattern.exec(was)?.[0] : line.mark);
}
