/** Where a span of another program stands, as a `traceparent` header says it (W3C Trace Context). */
export interface TraceParent {
  traceId: string;
  spanId: string;
  /** Eight bits, of which the lowest one says that the trace is recorded. */
  flags: number;
}

const form = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/u;
const zeros = /^0+$/u;

/** Reads the header; `undefined` for anything of another form, which the standard wants ignored. */
export function readTraceparent(header: string | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags] = form.exec(header ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (zeros.test(traceId) || zeros.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}
