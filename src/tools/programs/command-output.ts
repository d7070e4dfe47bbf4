/** Bytes kept of an output's start, and of its end beyond that. */
const [wholeBytes, endBytes] = [4 * 1024 * 1024, 64 * 1024];
/** Characters shown to a model, of the start and of the end. */
const [shownStart, shownEnd] = [1500, 2500];

/** A command's combined stdout and stderr in order of arrival, in bounded memory. */
export interface CommandOutput {
  add(chunk: Buffer): void;
  bytes(): number;
  /** The readable text; for long output start and end with a mark between. */
  text(): { shown: string; isWhole: boolean };
  /** The first 4 MB and the end. */
  whole(): Buffer;
  /** Keeps only what `text` shows, once the whole output is no longer needed. */
  shrink(): void;
}

/** Creates an empty output. */
export function createOutput(): CommandOutput {
  const start: Buffer[] = [];
  let end: Buffer = Buffer.alloc(0);
  let total = 0;
  let kept = 0;
  const whole = (): Buffer => {
    const missing = total - kept - end.length;
    const mark = missing > 0 ? [Buffer.from(`\n[${missing} bytes were not kept]\n`)] : [];
    return Buffer.concat([...start, ...mark, end]);
  };
  return {
    add(chunk) {
      total += chunk.length;
      const room = Math.max(0, wholeBytes - kept);
      const first = chunk.subarray(0, room);
      if (first.length > 0) start.push(first);
      kept += first.length;
      if (chunk.length > room) end = Buffer.from(Buffer.concat([end, chunk.subarray(room)]).subarray(-endBytes));
    },
    bytes: () => total,
    text() {
      if (total <= 2 * endBytes) return shownOf(readable(whole().toString("utf8")));
      const all = whole();
      const [first, last] = [all.subarray(0, endBytes), all.subarray(-endBytes)].map((part) =>
        readable(part.toString("utf8")),
      );
      return { shown: joined(first ?? "", last ?? "", `${total} bytes in all`), isWhole: false };
    },
    whole,
    shrink() {
      if (total <= 2 * endBytes) return;
      const all = whole();
      start.splice(0, start.length, Buffer.from(all.subarray(0, endBytes)));
      [kept, end] = [endBytes, Buffer.from(all.subarray(-endBytes))];
    },
  };
}

function shownOf(text: string): { shown: string; isWhole: boolean } {
  if (text.length <= shownStart + shownEnd) return { shown: text, isWhole: true };
  const left = text.length - shownStart - shownEnd;
  return { shown: joined(text, text, `${left} characters`), isWhole: false };
}

function joined(first: string, last: string, what: string): string {
  return `${first.slice(0, shownStart).toWellFormed()}\n[… ${what} are not shown …]\n${last.slice(-shownEnd).toWellFormed()}`;
}

const [escape, bell] = [String.fromCodePoint(27), String.fromCodePoint(7)];
/** Terminal control sequences: colours, cursor movement, titles, short ones. */
const controlSequences = new RegExp(
  `${escape}(?:\\[[0-?]{0,40}[ -/]{0,4}[@-~]|\\][^${bell}${escape}]{0,400}(?:${bell}|${escape}\\\\)?|[@-Z\\\\-_])`,
  "gu",
);

/** Removes terminal control sequences, overwritten lines and invisible characters. */
export function readable(text: string): string {
  return text
    .replaceAll(controlSequences, "")
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf("\r") + 1))
    .join("\n")
    .replaceAll(/[^\P{C}\n\t]/gu, "");
}
