import { isAppError, type ErrorCode } from "@millrace/engine/errors/errors";

/** When a circuit breaker opens, and for how long. */
export interface BreakerSettings {
  /** Consecutive failures. */
  failures: number;
  /** Milliseconds until one probe request is allowed. */
  openMs: number;
}

/** 5 failures and 60 s; for local models 3 and 30 s. */
export const breakerSettings = {
  remote: { failures: 5, openMs: 60_000 },
  local: { failures: 3, openMs: 30_000 },
} as const satisfies Record<string, BreakerSettings>;

/** `half_open`: one probe request is running; others are refused. */
export type BreakerState = "closed" | "open" | "half_open";

/** Permission for one request. Only the first outcome counts. */
export interface Pass {
  /** The service started to respond. */
  succeeded(): void;
  /** The request failed; errors that say nothing about the service, such as a wrong key, do not count. */
  failed(error: unknown): void;
  /** The request was cancelled before its outcome was known. A cancelled probe counts as failed. */
  givenUp(): void;
}

/** A circuit breaker. */
export interface Breaker {
  /** `undefined` while the breaker is open. */
  enter(): Pass | undefined;
  state(): BreakerState;
  /** Milliseconds until the next probe; 0 if closed. */
  waitMs(): number;
}

/** Errors that mean the service is down. */
const down: ReadonlySet<ErrorCode> = new Set(["network", "timeout", "server"]);

/** Creates a closed breaker. */
export function createBreaker({ failures, openMs }: BreakerSettings): Breaker {
  let failedInARow = 0;
  let openedAt: number | undefined;
  let isProbing = false;
  const open = (): void => {
    openedAt = Date.now();
    isProbing = false;
  };
  const waitMs = (): number => (openedAt === undefined || isProbing ? 0 : Math.max(0, openedAt + openMs - Date.now()));
  return {
    enter() {
      // Other requests do not wait for a running probe: they have a fallback, or a waiting user.
      if (isProbing || waitMs() > 0) return undefined;
      const isProbe = openedAt !== undefined;
      isProbing = isProbe;
      let isOver = false;
      const once = (count: () => void) => (): void => {
        if (!isOver) count();
        isOver = true;
      };
      const answered = (): void => {
        failedInARow = 0;
        if (isProbe) [openedAt, isProbing] = [undefined, false];
      };
      const isDown = (): void => {
        failedInARow += 1;
        if (isProbe || (openedAt === undefined && failedInARow >= failures)) open();
      };
      return {
        succeeded: once(answered),
        // A refusal is a response, but does not reset the failure count.
        failed: (error) => once(isAppError(error) && down.has(error.code) ? isDown : isProbe ? answered : nothing)(),
        givenUp: once(isProbe ? isDown : nothing),
      };
    },
    state: () => (openedAt === undefined ? "closed" : isProbing ? "half_open" : "open"),
    waitMs,
  };
}

function nothing(): void {
  // Errors unrelated to the service change nothing.
}
