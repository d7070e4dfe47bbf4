import type { ErrorCode } from "@millrace/engine/errors/errors";

/** Request statistics of one service since the process started. Times in milliseconds. */
export interface Statistics {
  /** Completed requests; those in flight are not included. */
  calls: number;
  succeeded: number;
  failed: number;
  /** Cancelled by the caller: neither success nor failure. */
  cancelled: number;
  /** Refused because the breaker was open. */
  refused: number;
  /** Of completed requests; `null` before the first. */
  success_rate: number | null;
  /** Of successful requests. */
  mean_duration_ms: number | null;
  /** Until the first content, over all requests that produced some. */
  mean_first_token_ms: number | null;
  failures: Partial<Record<ErrorCode, number>>;
  last_failure: { error: ErrorCode; at: string } | null;
}

/** The counters of one service. */
export interface Counter {
  answering(firstTokenMs: number): void;
  succeeded(durationMs: number): void;
  failed(code: ErrorCode): void;
  cancelled(): void;
  refused(): void;
  read(): Statistics;
}

/** A new counter. */
export function createCounter(): Counter {
  const count = { answering: 0, succeeded: 0, failed: 0, cancelled: 0, refused: 0 };
  const sum = { firstToken: 0, duration: 0 };
  const failures: Partial<Record<ErrorCode, number>> = {};
  let last: Statistics["last_failure"] = null;
  return {
    answering(firstTokenMs) {
      count.answering += 1;
      sum.firstToken += firstTokenMs;
    },
    succeeded(durationMs) {
      count.succeeded += 1;
      sum.duration += durationMs;
    },
    failed(code) {
      count.failed += 1;
      failures[code] = (failures[code] ?? 0) + 1;
      last = { error: code, at: new Date().toISOString() };
    },
    cancelled: () => void (count.cancelled += 1),
    refused: () => void (count.refused += 1),
    read() {
      const { answering, succeeded, failed, cancelled, refused } = count;
      return {
        calls: succeeded + failed + cancelled,
        succeeded,
        failed,
        cancelled,
        refused,
        success_rate: share(succeeded, succeeded + failed),
        mean_duration_ms: share(sum.duration, succeeded),
        mean_first_token_ms: share(sum.firstToken, answering),
        failures: { ...failures },
        last_failure: last,
      };
    },
  };
}

function share(part: number, of: number): number | null {
  return of === 0 ? null : part / of;
}
