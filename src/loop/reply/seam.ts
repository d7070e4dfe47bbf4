/**
 * Shorter repetitions count as part of the text. In UTF-8 bytes, because a Chinese character carries more than a
 * letter.
 */
const minOverlapBytes = 16;
/** Characters at the end of the text that are searched for a repetition. */
const maxOverlapLength = 2000;

/** How a continuation is joined to the text so far. */
export interface Seam {
  /** Number of characters at the start of `next` that repeat `text`. */
  overlap(text: string, next: string): number;
  /** Whether more of `next` could make the overlap longer; until then none of it is emitted. */
  mayGrow(text: string, next: string): boolean;
}

/**
 * Number of characters at the start of `next` that repeat the end of `text`, although the model was asked to go on with
 * the next character. A pattern that `text` itself repeats (a ruled line, table rows) is no overlap: the model
 * continues it as asked.
 */
export function overlapAtSeam(text: string, next: string): number {
  const end = text.slice(-maxOverlapLength);
  for (let length = Math.min(end.length, next.length); length > 0; length -= 1) {
    const repeated = next.slice(0, length);
    if (Buffer.byteLength(repeated) < minOverlapBytes) break;
    if (end.endsWith(repeated)) return repeatsItself(end, repeated) ? 0 : length;
  }
  return 0;
}

/** Whether more of `next` could make this overlap longer. */
export function overlapMayGrow(text: string, next: string): boolean {
  return next.length < maxOverlapLength && text.slice(-maxOverlapLength).includes(next);
}

/** Whether the end repeats this part, or the part consists of a shorter pattern. */
function repeatsItself(end: string, part: string): boolean {
  if (end.endsWith(part + part)) return true;
  for (let shift = 1; shift <= part.length / 2; shift += 1) {
    if (part.startsWith(part.slice(shift))) return true;
  }
  return false;
}

/** For continuations requested by an instruction. */
export const instructedSeam: Seam = { overlap: overlapAtSeam, mayGrow: overlapMayGrow };

/**
 * For continuations of a given beginning: the model goes on with the next character, so a repetition is intended. Some
 * servers however return the whole beginning first.
 */
export const beginningSeam: Seam = {
  overlap: (text, next) =>
    Buffer.byteLength(text) >= minOverlapBytes && next.startsWith(text.toWellFormed()) ? text.length : 0,
  mayGrow: (text, next) => next.length < text.length && text.toWellFormed().startsWith(next),
};

/** Filters a streamed continuation: holds it back while it may only repeat `text`. Without a seam everything passes. */
export function readBehind(text: string, seam: Seam | undefined): { push(part: string): string; end(): string } {
  let held: string | undefined = seam === undefined ? undefined : "";
  const end = (): string => {
    const rest = held?.slice(seam?.overlap(text, held)) ?? "";
    held = undefined;
    return rest;
  };
  return {
    push(part) {
      if (held === undefined) return part;
      held += part;
      return seam?.mayGrow(text, held) === true ? "" : end();
    },
    end,
  };
}
