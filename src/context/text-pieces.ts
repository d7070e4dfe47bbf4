/** Maximum characters of a piece: byte-pair encoding is quadratic in a stretch it cannot split. */
const maxPieceLength = 512;
/** Text without a border is cut after this many characters; that changes the count by less than half a percent. */
const maxStretchLength = 128;

/**
 * Splits a text into pieces whose token counts add up: pieces end before a space that follows another character, where
 * a token always begins. Never splits a character.
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
  if (text.length - begin <= maxStretchLength) return text.length;
  const border = lastBorder(text, begin, Math.min(text.length, begin + maxPieceLength));
  const stretchEnd = begin + maxStretchLength;
  if (border !== undefined && isDense(text, begin, border)) return border;
  const near = lastBorder(text, begin, stretchEnd);
  if (near !== undefined) return near;
  const cutsCharacter = /[\uD800-\uDBFF]/u.test(text.charAt(stretchEnd - 1)) && isLowHalf(text.charCodeAt(stretchEnd));
  return cutsCharacter ? stretchEnd - 1 : stretchEnd;
}

/** The last index up to `end` where a space follows another character. */
function lastBorder(text: string, begin: number, end: number): number | undefined {
  for (let at = end; at > begin; at -= 1) {
    if (text[at] === " " && !/\s/u.test(text.charAt(at - 1))) return at;
  }
  return undefined;
}

/** Whether all stretches between borders are short enough. */
function isDense(text: string, begin: number, end: number): boolean {
  let last = begin;
  for (let at = begin + 1; at <= end; at += 1) {
    if (text[at] === " ") last = at;
    else if (at - last > maxStretchLength) return false;
  }
  return true;
}

function isLowHalf(code: number): boolean {
  return code >= 0xdc_00 && code <= 0xdf_ff;
}
