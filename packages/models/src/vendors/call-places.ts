/** The place of the call that a piece belongs to: `number` is what the server says, `id` what the piece names. */
export type CallPlace = (number: number, id: string | undefined) => number;

/**
 * The places of the calls of one answer. Some servers give all calls the same number (Gemini's among them), and pieces
 * of two calls in one place are read as one call with broken arguments. A piece with another id begins a call in a
 * place of its own; one without an id goes on with the call that was begun last under its number.
 */
export function callPlaces(): CallPlace {
  const begun: { number: number; id: string | undefined; place: number }[] = [];
  return (number, id) => {
    const known = begun.findLast(
      (call) => call.number === number && (id === undefined || call.id === undefined || call.id === id),
    );
    if (known !== undefined) {
      known.id ??= id;
      return known.place;
    }
    let place = number;
    while (begun.some((call) => call.place === place)) place += 1;
    begun.push({ number, id, place });
    return place;
  };
}
