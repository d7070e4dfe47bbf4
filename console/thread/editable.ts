/** Maps that were copied within the batch of events that is being worked through, and may be changed in place until its end. */
let owned: WeakSet<object> | undefined;

/** A copy of a map that may be changed: one for a whole batch of events, so that an event costs what it changes. */
export function editable<Key, Value>(map: ReadonlyMap<Key, Value>): Map<Key, Value> {
  // What is in the set was made here, as a map that may be changed.
  if (owned?.has(map) === true) return map as Map<Key, Value>;
  const copy = new Map(map);
  owned?.add(copy);
  return copy;
}

/** Works through a batch; what it makes may be seen by others only when it is over. */
export function inBatch<Result>(work: () => Result): Result {
  owned = new WeakSet();
  try {
    return work();
  } finally {
    owned = undefined;
  }
}
