/** The parent span of another program, from a `traceparent` header (W3C Trace Context). */
export interface TraceParent {
  traceId: string;
  spanId: string;
  /** Eight flag bits; the lowest means that the trace is recorded. */
  flags: number;
}

const form = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/u;
const zeros = /^0+$/u;

/** Parses the header; `undefined` for any other format, which the standard says to ignore. */
export function readTraceparent(header: string | undefined): TraceParent | undefined {
  const [, traceId, spanId, flags] = form.exec(header ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined;
  if (zeros.test(traceId) || zeros.test(spanId)) return undefined;
  return { traceId, spanId, flags: Number.parseInt(flags, 16) };
}
