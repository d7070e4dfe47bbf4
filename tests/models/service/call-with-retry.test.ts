import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import { createModel, modelTarget } from "@millrace/models/load-model";
import { callWithRetry, type RetryOptions } from "@millrace/models/resilience/call-with-retry";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";

const servers: ModelServer[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await server.close()));
});

const never = new AbortController().signal;
const delays = { initialMs: 0, maxMs: 0 };

/** One call through a real client against a script, with its retries. */
async function call(script: ModelStep[], options: Partial<RetryOptions> = {}) {
  const server = await startModelServer({ script });
  servers.push(server);
  const model = createModel("openai:scripted", {}, loadConfig({ OPENAI_BASE_URL: server.url }));
  const retries: { attempt: number; code: string; delayMs: number }[] = [];
  const work = callWithRetry(
    async (signal) => {
      let text = "";
      for await (const chunk of await model.stream("hello", { signal })) text += chunk.text;
      return text;
    },
    {
      signal: never,
      delays,
      target: modelTarget(model),
      ...options,
      onRetry: (attempt, error, delayMs) => {
        retries.push({ attempt, code: error.code, delayMs });
        options.onRetry?.(attempt, error, delayMs);
      },
    },
  );
  const result: string | AppError = await work.catch((error: unknown) => {
    if (isAppError(error)) return error;
    throw error;
  });
  return { result, retries, server, code: isAppError(result) ? result.code : undefined };
}

const status = (code: number, more: object = {}): ModelStep => ({ fault: { kind: "status", status: code, ...more } });
const good: ModelStep = { text: "well done" };

describe("callWithRetry", () => {
  it("repeats after broken connections and server errors until an answer comes", async () => {
    const { result, retries, server } = await call([{ fault: { kind: "reset" } }, status(503), status(500), good]);
    expect(result).toBe("well done");
    expect(retries.map((retry) => [retry.attempt, retry.code])).toEqual([
      [1, "network"],
      [2, "server"],
      [3, "server"],
    ]);
    server.assertFinished();
  });

  it("gives up after three further tries", async () => {
    const { code, retries, server } = await call([status(500), status(500), status(500), status(500)]);
    expect([code, retries.length]).toEqual(["server", 3]);
    server.assertFinished();
  });

  it("repeats as long as the signal lets it where no limit is wanted, and ends at once with the signal (LOOP-16)", async () => {
    const stop = new AbortController();
    const retries: number[] = [];
    let tries = 0;
    const endless = callWithRetry(
      async () => {
        tries += 1;
        throw new AppError("network", "The line is down.", { recoverable: true });
      },
      {
        signal: stop.signal,
        delays,
        maxRetries: -1,
        onRetry: (attempt) => {
          retries.push(attempt);
          if (attempt === 40) stop.abort(new AppError("cancelled", "The user has had enough."));
        },
      },
    );
    await expect(endless).rejects.toMatchObject({ code: "cancelled" });
    expect(tries).toBe(40);
    expect(retries).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
  });

  it("repeats at most twice after 429", async () => {
    const { code, retries } = await call([status(429), status(429), status(429)]);
    expect([code, retries.length]).toEqual(["rate_limit", 2]);
  });

  it.each([
    ["authentication", status(401)],
    ["a bad request", status(400)],
    ["a missing model", status(404)],
    ["a used-up quota", status(429, { code: "insufficient_quota" })],
    ["a wait longer than a minute", status(429, { retryAfter: "3600" })],
  ])("does not repeat after %s", async (_name, step) => {
    const { retries, server, code } = await call([step]);
    expect(retries).toEqual([]);
    expect(code).not.toBe(undefined);
    server.assertFinished();
  });

  it("does not repeat an answer that broke after it had begun", async () => {
    const { code, retries, server } = await call([{ text: "one two three", fault: { kind: "cut", after: 2 } }]);
    expect([code, retries.length]).toEqual(["network", 0]);
    server.assertFinished();
  });

  it.each([
    ["seconds", "7", 7000],
    ["fractions", "0.5", 500],
  ])(
    "waits as long as the provider asks, in %s, and stops at once in the middle of the wait",
    async (_name, retryAfter, delayMs) => {
      const stop = new AbortController();
      const { code, retries } = await call([status(429, { retryAfter })], {
        signal: stop.signal,
        onRetry: () => stop.abort(),
      });
      expect(retries).toEqual([{ attempt: 1, code: "rate_limit", delayMs }]);
      expect(code).toBe("cancelled");
    },
  );

  it("understands a date in Retry-After", async () => {
    const stop = new AbortController();
    const retryAfter = new Date(Date.now() + 20_000).toUTCString();
    const { retries } = await call([status(429, { retryAfter })], { signal: stop.signal, onRetry: () => stop.abort() });
    expect(retries[0]?.delayMs).toBeGreaterThan(10_000);
    expect(retries[0]?.delayMs).toBeLessThanOrEqual(20_000);
  });

  it("grows its own waits between the first and the longest", async () => {
    const waits: number[] = [];
    const stop = new AbortController();
    const work = callWithRetry(() => Promise.reject(new AppError("server", "down", { recoverable: true })), {
      signal: stop.signal,
      delays: { initialMs: 4, maxMs: 9 },
      onRetry: (_attempt, _error, delayMs) => waits.push(delayMs),
    });
    await expect(work).rejects.toMatchObject({ code: "server" });
    // Each is shorter by up to a fifth.
    const whole = [4, 9, 9];
    expect(waits).toHaveLength(whole.length);
    expect(waits.map((wait, index) => wait / (whole[index] ?? 0)).filter((part) => part <= 0.8 || part > 1)).toEqual(
      [],
    );
  });

  it("ends work that ignores the signal, with the signal's own reason", async () => {
    const stop = new AbortController();
    const reason = new AppError("cancelled", "stopped by the user");
    const work = callWithRetry(async () => await new Promise<never>(() => undefined), { signal: stop.signal });
    stop.abort(reason);
    await expect(work).rejects.toBe(reason);
  });

  it("says that the time ran out when a time-out signal stops it", async () => {
    const work = callWithRetry(async () => await new Promise<never>(() => undefined), {
      signal: AbortSignal.timeout(1),
    });
    await expect(work).rejects.toMatchObject({ code: "timeout" });
  });

  it("does not start with a signal that is aborted already", async () => {
    let isStarted = false;
    const work = callWithRetry(
      () => {
        isStarted = true;
        return Promise.resolve(1);
      },
      { signal: AbortSignal.abort() },
    );
    await expect(work).rejects.toMatchObject({ code: "cancelled" });
    expect(isStarted).toBe(false);
  });
});
