const failed = new WeakSet<object>();

/** With these a server may refuse to stream; 404 and the like are about the model. */
const refusals: ReadonlySet<unknown> = new Set([400, 405, 406, 415, 422, 501]);

/**
 * Remembers that an answer could not be streamed: the server had agreed to and then gave nothing that can be read, or
 * it said that it does not stream. The same request may be answered in one piece.
 */
export function noteStreamFailure(error: unknown, hadAgreed: boolean): void {
  if (typeof error === "object" && error !== null && (hadAgreed || refusesToStream(error))) failed.add(error);
}

/** Whether this error, or what it was made of, is one of those. */
export function failedToStream(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { cause } = error;
  return failed.has(error) || (typeof cause === "object" && cause !== null && failed.has(cause));
}

/** OpenAI does not stream its newest models to everybody, and gateways not every model. They say so in these words. */
function refusesToStream(error: object): boolean {
  const isRefusal = ["status", "status_code"].some((key) => refusals.has(Reflect.get(error, key)));
  return isRefusal && error instanceof Error && /\bstream/iu.test(error.message);
}
