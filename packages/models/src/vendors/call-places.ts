/** Returns the index of a chunk's call: `number` is the server's index, `id` the chunk's id. */
export type CallPlace = (number: number, id: string | undefined) => number;

/**
 * Assigns indexes to the calls of one answer. Some servers, such as Gemini's, give all calls the same number, and
 * chunks of two calls at one index would be merged into broken arguments. A chunk with a new id starts a call at a new
 * index; one without an id continues the last call under its number.
 */
export function callPlaces(): CallPlace {
  const calls: { number: number; id: string | undefined; place: number }[] = [];
  return (number, id) => {
    const known = calls.findLast(
      (call) => call.number === number && (id === undefined || call.id === undefined || call.id === id),
    );
    if (known !== undefined) {
      known.id ??= id;
      return known.place;
    }
    let place = number;
    while (calls.some((call) => call.place === place)) place += 1;
    calls.push({ number, id, place });
    return place;
  };
}
