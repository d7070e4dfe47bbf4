const failed = new WeakSet<object>();

/** Statuses by which a server may refuse to stream; 404 and the like concern the model. */
const refusals: ReadonlySet<unknown> = new Set([400, 405, 406, 415, 422, 501]);

/**
 * Marks an error as a streaming failure: the server had agreed but sent nothing readable, or it refused to stream. The
 * same request may succeed unstreamed.
 */
export function markStreamFailure(error: unknown, hadAgreed: boolean): void {
  if (typeof error === "object" && error !== null && (hadAgreed || refusesToStream(error))) failed.add(error);
}

/** Whether this error, or one of its causes, is marked as such. */
export function failedToStream(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { cause } = error;
  return failed.has(error) || (typeof cause === "object" && cause !== null && failed.has(cause));
}

/** OpenAI does not stream its newest models to everyone, nor gateways every model; these are their error texts. */
function refusesToStream(error: object): boolean {
  const isRefusal = ["status", "status_code"].some((key) => refusals.has(Reflect.get(error, key)));
  return isRefusal && error instanceof Error && /\bstream/iu.test(error.message);
}
