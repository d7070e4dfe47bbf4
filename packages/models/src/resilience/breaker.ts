import { isAppError, type ErrorCode } from "@millrace/engine/errors/errors";

/** When a service is left alone, and for how long. */
export interface BreakerSettings {
  /** Failures in a row. */
  failures: number;
  /** Milliseconds until one request may look whether it is back. */
  openMs: number;
}

/** 5 failures and 60 s; where the model runs here 3 and 30 s. */
export const breakerSettings = {
  remote: { failures: 5, openMs: 60_000 },
  local: { failures: 3, openMs: 30_000 },
} as const satisfies Record<string, BreakerSettings>;

/** `half_open`: one request is on its way to look; all others are still refused. */
export type BreakerState = "closed" | "open" | "half_open";

/** The leave to make one request. Only the first word about it counts. */
export interface Pass {
  /** The service has begun to answer. */
  succeeded(): void;
  /** It has not; what says nothing about the service, such as a wrong key, is not counted. */
  failed(error: unknown): void;
  /** The request was given up before anybody knew. Where it was to look whether the service is back, it is not. */
  givenUp(): void;
}

/** Keeps requests from a service that is down. */
export interface Breaker {
  /** `undefined` while the service is left alone. */
  enter(): Pass | undefined;
  state(): BreakerState;
  /** Milliseconds until a request may look again; 0 where requests are let through. */
  waitMs(): number;
}

/** What says that a service is down, and not that it does not like the request. */
const down: ReadonlySet<ErrorCode> = new Set(["network", "timeout", "server"]);

/** A breaker of its own, closed. */
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
      // Nobody waits for the one that looks: others have another model, or a user who waits.
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
        // A refusal is an answer, but says nothing of those that failed before it.
        failed: (error) => once(isAppError(error) && down.has(error.code) ? isDown : isProbe ? answered : nothing)(),
        givenUp: once(isProbe ? isDown : nothing),
      };
    },
    state: () => (openedAt === undefined ? "closed" : isProbing ? "half_open" : "open"),
    waitMs,
  };
}

function nothing(): void {
  // What says nothing about the service changes nothing.
}
