/** The inputs that were sent to a graph on this device, the newest first. */

const prefix = "millrace.inputs.";
const most = 20;
/** Characters of an input that is kept. */
const longest = 20_000;

/** What was sent to a graph before; nothing where it cannot be read. */
export function earlierInputs(graphId: string): unknown[] {
  try {
    const read: unknown = JSON.parse(localStorage.getItem(prefix + graphId) ?? "[]");
    return Array.isArray(read) ? read : [];
  } catch {
    return [];
  }
}

/** Keeps an input; one that was sent before comes to the front. */
export function keepInput(graphId: string, input: unknown): void {
  const text = JSON.stringify(input);
  if (text === undefined || text.length > longest) return;
  const others = earlierInputs(graphId).filter((one) => JSON.stringify(one) !== text);
  try {
    localStorage.setItem(prefix + graphId, JSON.stringify([input, ...others].slice(0, most)));
  } catch {
    // Without storage there are no earlier inputs.
  }
}
