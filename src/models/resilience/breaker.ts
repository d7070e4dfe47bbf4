import { circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen } from "cockatiel";
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

/** Nobody knows how the request would have ended. */
class GivenUp extends Error {
  readonly counts: boolean;

  constructor(counts: boolean) {
    super("The request was given up.");
    this.counts = counts;
  }
}

/** A breaker of its own, closed. */
export function createBreaker({ failures, openMs }: BreakerSettings): Breaker {
  const counts = handleWhen((error) =>
    error instanceof GivenUp ? error.counts : isAppError(error) && down.has(error.code),
  );
  const policy = circuitBreaker(counts, { halfOpenAfter: openMs, breaker: new ConsecutiveBreaker(failures) });
  let openedAt = 0;
  policy.onBreak(() => (openedAt = Date.now()));
  return {
    enter() {
      // The policy lets others wait for the one that looks; they have another model, or a user who waits.
      const before = policy.state;
      if (before === CircuitState.HalfOpen) return undefined;
      const outcome = Promise.withResolvers<void>();
      let isIn = false;
      const counted = policy.execute(async () => {
        isIn = true;
        await outcome.promise;
      });
      // The failure is the caller's; here it is only counted.
      counted.catch(() => undefined);
      if (!isIn) return undefined;
      return {
        succeeded: () => outcome.resolve(),
        failed: (error) => outcome.reject(error),
        givenUp: () => outcome.reject(new GivenUp(before === CircuitState.Open)),
      };
    },
    state() {
      if (policy.state === CircuitState.Closed) return "closed";
      return policy.state === CircuitState.HalfOpen ? "half_open" : "open";
    },
    waitMs: () => (policy.state === CircuitState.Open ? Math.max(0, openedAt + openMs - Date.now()) : 0),
  };
}
