/** A shorter repetition is taken for the text's own. In bytes of UTF-8: a Chinese character says more than a letter. */
const shortestOverlap = 16;
/** A model that repeats repeats the end of what it has said; further back nothing is looked for. */
const longestOverlap = 2000;

/** How a further piece of an answer is put behind what was said. */
export interface Seam {
  /** How many characters at the beginning of `next` say again what `text` has said. */
  overlap(text: string, next: string): number;
  /** Whether more of `next` may still come that makes the overlap longer: until then nothing of it can be told. */
  mayGrow(text: string, next: string): boolean;
}

/**
 * How many characters at the beginning of `next` only repeat the end of `text`: the model was asked to go on with the
 * very next character, and did not. A pattern that `text` itself repeats (a ruled line, rows of a table) is no such
 * overlap: going on with it is what a model does that obeys.
 */
export function overlapAtSeam(text: string, next: string): number {
  const end = text.slice(-longestOverlap);
  for (let length = Math.min(end.length, next.length); length > 0; length -= 1) {
    const repeated = next.slice(0, length);
    if (Buffer.byteLength(repeated) < shortestOverlap) break;
    if (end.endsWith(repeated)) return goesOnItself(end, repeated) ? 0 : length;
  }
  return 0;
}

/** Whether more of `next` may still come that makes this overlap longer. */
export function overlapMayGrow(text: string, next: string): boolean {
  return next.length < longestOverlap && text.slice(-longestOverlap).includes(next);
}

/** The end of the text has this very part twice in a row, or the part is made of a shorter pattern. */
function goesOnItself(end: string, part: string): boolean {
  if (end.endsWith(part + part)) return true;
  for (let shift = 1; shift <= part.length / 2; shift += 1) {
    if (part.startsWith(part.slice(shift))) return true;
  }
  return false;
}

/** Where the model was asked in words for the rest of its answer. */
export const askedSeam: Seam = { overlap: overlapAtSeam, mayGrow: overlapMayGrow };

/**
 * Where the model was given its own words as the beginning of its answer: it goes on with the next character, so a
 * repetition is its own. But some servers send the beginning back, whole, before what is new.
 */
export const begunSeam: Seam = {
  overlap: (text, next) =>
    Buffer.byteLength(text) >= shortestOverlap && next.startsWith(text.toWellFormed()) ? text.length : 0,
  mayGrow: (text, next) => next.length < text.length && text.toWellFormed().startsWith(next),
};

/** What is new of a further piece while it streams: nothing as long as it may only repeat. Without a seam all of it is. */
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
