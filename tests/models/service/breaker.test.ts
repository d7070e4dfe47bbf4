import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AppError, type ErrorCode } from "@millrace/engine/errors/errors";
import { breakerSettings, createBreaker, type Breaker, type Pass } from "@millrace/models/resilience/breaker";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: 0 }));
afterEach(() => void vi.useRealTimers());

const failure = (code: ErrorCode): AppError => new AppError(code, "failed");

function pass(breaker: Breaker): Pass {
  const entered = breaker.enter();
  if (entered === undefined) throw new Error("the breaker is open");
  return entered;
}

/** The policy counts in a later microtask. */
const counted = async (): Promise<void> => await new Promise((resolve) => setImmediate(resolve));

async function fail(breaker: Breaker, times: number, code: ErrorCode = "server"): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    pass(breaker).failed(failure(code));
    await counted();
  }
}

describe.each([
  ["a remote service", breakerSettings.remote, 5, 60_000],
  ["a local one", breakerSettings.local, 3, 30_000],
])("the breaker of %s", (_name, settings, failures, openMs) => {
  it("opens after so many failures in a row, for so long", async () => {
    const breaker = createBreaker(settings);
    await fail(breaker, failures - 1);
    expect(breaker.state()).toBe("closed");
    await fail(breaker, 1);
    expect([breaker.state(), breaker.waitMs()]).toEqual(["open", openMs]);
    expect(breaker.enter()).toBe(undefined);
    vi.setSystemTime(openMs - 1);
    expect([breaker.enter(), breaker.waitMs()]).toEqual([undefined, 1]);
  });

  it("lets one request look afterwards, and closes when it is answered", async () => {
    const breaker = createBreaker(settings);
    await fail(breaker, failures);
    vi.setSystemTime(openMs);
    const probe = pass(breaker);
    expect([breaker.state(), breaker.enter()]).toEqual(["half_open", undefined]);
    probe.succeeded();
    await counted();
    expect(breaker.state()).toBe("closed");
    await fail(breaker, failures - 1);
    expect(breaker.state()).toBe("closed");
  });

  it.each<[string, (probe: Pass) => void]>([
    ["fails", (probe) => probe.failed(failure("network"))],
    ["is given up", (probe) => probe.givenUp()],
  ])("stays open when the one that looks %s", async (_what, end) => {
    const breaker = createBreaker(settings);
    await fail(breaker, failures);
    vi.setSystemTime(openMs);
    end(pass(breaker));
    await counted();
    expect([breaker.state(), breaker.waitMs()]).toEqual(["open", openMs]);
  });
});

describe("what the breaker counts", () => {
  it.each<ErrorCode>(["auth", "quota", "rate_limit", "not_found", "api_error", "context_overflow", "cancelled"])(
    "%s says nothing about the service",
    async (code) => {
      const breaker = createBreaker(breakerSettings.remote);
      await fail(breaker, 20, code);
      expect(breaker.state()).toBe("closed");
    },
  );

  it.each<ErrorCode>(["network", "timeout", "server"])("%s counts", async (code) => {
    const breaker = createBreaker(breakerSettings.remote);
    await fail(breaker, 5, code);
    expect(breaker.state()).toBe("open");
  });

  it("a success begins the count anew, and a request that was given up does not count", async () => {
    const breaker = createBreaker(breakerSettings.remote);
    await fail(breaker, 4);
    pass(breaker).givenUp();
    pass(breaker).succeeded();
    await counted();
    await fail(breaker, 4);
    expect(breaker.state()).toBe("closed");
  });

  it("an answer shows that the service is there, also where the request was refused", async () => {
    const breaker = createBreaker(breakerSettings.remote);
    await fail(breaker, 5);
    vi.setSystemTime(60_000);
    pass(breaker).failed(failure("auth"));
    await counted();
    expect(breaker.state()).toBe("closed");
  });
});
