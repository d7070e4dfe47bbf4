/** Characters of a piece: byte-pair encoding takes time by the square of a stretch that it cannot divide. */
const longestPiece = 512;
/** Where a stretch has no border, it is cut after so many characters; that moves the count by less than half a percent. */
const longestStretch = 128;

/**
 * A text in pieces whose tokens add up to those of the whole: a piece ends before a space that follows something else,
 * since there a token always begins. No character is cut in half.
 */
export function* textPieces(text: string): Generator<string> {
  let begin = 0;
  while (begin < text.length) {
    const end = endOfPiece(text, begin);
    yield text.slice(begin, end);
    begin = end;
  }
}

function endOfPiece(text: string, begin: number): number {
  if (text.length - begin <= longestStretch) return text.length;
  const border = lastBorder(text, begin, Math.min(text.length, begin + longestPiece));
  const stretchEnd = begin + longestStretch;
  if (border !== undefined && isDense(text, begin, border)) return border;
  const near = lastBorder(text, begin, stretchEnd);
  if (near !== undefined) return near;
  const cutsCharacter = /[\uD800-\uDBFF]/u.test(text.charAt(stretchEnd - 1)) && isLowHalf(text.charCodeAt(stretchEnd));
  return cutsCharacter ? stretchEnd - 1 : stretchEnd;
}

/** The last place up to `end` where a space follows something else. */
function lastBorder(text: string, begin: number, end: number): number | undefined {
  for (let at = end; at > begin; at -= 1) {
    if (text[at] === " " && !/\s/u.test(text.charAt(at - 1))) return at;
  }
  return undefined;
}

/** Whether no stretch between two borders is longer than one may be. */
function isDense(text: string, begin: number, end: number): boolean {
  let last = begin;
  for (let at = begin + 1; at <= end; at += 1) {
    if (text[at] === " ") last = at;
    else if (at - last > longestStretch) return false;
  }
  return true;
}

function isLowHalf(code: number): boolean {
  return code >= 0xdc_00 && code <= 0xdf_ff;
}
