/** Where words stand in a text: the first letter of each place. Capitals count only where the words have some. */
export function placesOf(text: string, words: string): number[] {
  if (words === "") return [];
  const exact = words !== words.toLowerCase();
  const where = exact ? text : text.toLowerCase();
  const places: number[] = [];
  for (let at = where.indexOf(words); at !== -1; at = where.indexOf(words, at + words.length)) places.push(at);
  // Some letters become longer in lower case; then the places would not be those of the text.
  return where.length === text.length ? places : placesAsWritten(text, words);
}

function placesAsWritten(text: string, words: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(words); at !== -1; at = text.indexOf(words, at + words.length)) places.push(at);
  return places;
}

/** The text with other words at all those places. */
export function replacedAt(text: string, places: readonly number[], length: number, words: string): string {
  let done = "";
  let from = 0;
  for (const place of places) {
    done += text.slice(from, place) + words;
    from = place + length;
  }
  return done + text.slice(from);
}
