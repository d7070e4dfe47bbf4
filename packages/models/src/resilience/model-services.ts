import { LRUCache } from "lru-cache";
import { AppError, withAdvice } from "@millrace/engine/errors/errors";
import {
  createSemaphore,
  createRateLimiter,
  type Semaphore,
  type RateLimiter,
} from "@millrace/engine/concurrency/limits";
import { breakerSettings, createBreaker, type Breaker, type BreakerState } from "./breaker.ts";
import { toModelError } from "../model-error.ts";
import type { ModelTarget } from "../provider.ts";
import { createCounter, type Counter, type Statistics } from "./statistics.ts";
import { brokeMidStream } from "./watch-stream.ts";

/** Settings for requests to a model. */
export interface ServiceSettings {
  /** Names the model in errors, with advice. */
  target: ModelTarget;
  /** Self-hosted. */
  isLocal: boolean;
  /** Concurrent requests to its provider; absent: unlimited. */
  maxConcurrent?: number | undefined;
  /** Requests per second to its provider; absent: unlimited. */
  perSecond?: number | undefined;
}

/** One admitted request. Only the first outcome counts. */
export interface ServiceCall {
  /** First content received; later failures do not count against the service. */
  answered(): void;
  finished(): void;
  /** Converts the failure to an AppError. */
  failed(error: unknown, signal: AbortSignal | undefined): unknown;
  /** The caller has stopped waiting. Always called, last. */
  left(): void;
}

/** Current status of a model's service. */
export interface ServiceStatus {
  /** `provider:model`. */
  model: string;
  state: BreakerState;
  /** Milliseconds until the next probe; 0 if requests pass. */
  retry_in_ms: number;
  /** Running requests. */
  in_flight: number;
  statistics: Statistics;
}

/** Called at the end of each request with the model and its error, if any. */
type OnEnd = (model: string, error?: AppError) => void;

interface Service {
  breaker: Breaker;
  counter: Counter;
  inFlight: number;
}

/** Cache size; names come from requests, so it must be bounded. */
const maxServices = 500;
const never = new AbortController().signal;

/**
 * All models used by this process: a breaker and statistics per model, a concurrency and rate limit per provider,
 * shared by all runs.
 */
export class ModelServices {
  readonly #services = new LRUCache<string, Service>({ max: maxServices });
  readonly #bulkheads = new Map<string, { places: number; bulkhead: Semaphore }>();
  readonly #rates = new Map<string, { perSecond: number; rate: RateLimiter }>();
  readonly #makeRate: (perSecond: number) => RateLimiter;
  readonly #onEnd: OnEnd;

  /** `onEnd` is called at the end of each request; `makeRate` creates rate limiters, replaceable for tests. */
  constructor({
    onEnd,
    makeRate = createRateLimiter,
  }: { onEnd?: OnEnd; makeRate?: (perSecond: number) => RateLimiter } = {}) {
    this.#makeRate = makeRate;
    this.#onEnd = onEnd ?? (() => undefined);
  }

  /** Waits for the provider's limits. Throws `service_paused` at once while the breaker is open. */
  async begin(settings: ServiceSettings, signal: AbortSignal | undefined): Promise<ServiceCall> {
    const { target } = settings;
    const service = this.#service(target.name, settings.isLocal);
    if (service.breaker.waitMs() > 0) throw refuse(service, target);
    await this.#rate(settings)?.acquire(signal ?? never);
    const leave = await this.#bulkhead(settings)?.acquire(signal ?? never);
    const pass = service.breaker.enter();
    if (pass === undefined) {
      leave?.();
      throw refuse(service, target);
    }
    return under(service, { pass, target, leave, onEnd: this.#onEnd });
  }

  /** Status of all models used so far, or those of one provider. */
  list(provider?: string): ServiceStatus[] {
    return [...this.#services]
      .toReversed()
      .filter(([model]) => provider === undefined || providerOf(model) === provider)
      .map(([model, { breaker, counter, inFlight }]) => ({
        model,
        state: breaker.state(),
        retry_in_ms: breaker.waitMs(),
        in_flight: inFlight,
        statistics: counter.read(),
      }));
  }

  #service(model: string, isLocal: boolean): Service {
    const settings = isLocal ? breakerSettings.local : breakerSettings.remote;
    const service = this.#services.get(model) ?? {
      breaker: createBreaker(settings),
      counter: createCounter(),
      inFlight: 0,
    };
    this.#services.set(model, service);
    return service;
  }

  #bulkhead({ target, maxConcurrent: places }: ServiceSettings): Semaphore | undefined {
    if (places === undefined) return undefined;
    const provider = providerOf(target.name);
    const known = this.#bulkheads.get(provider);
    if (known?.places === places) return known.bulkhead;
    const bulkhead = createSemaphore(places);
    this.#bulkheads.set(provider, { places, bulkhead });
    return bulkhead;
  }

  #rate({ target, perSecond }: ServiceSettings): RateLimiter | undefined {
    if (perSecond === undefined) return undefined;
    const provider = providerOf(target.name);
    const known = this.#rates.get(provider);
    if (known?.perSecond === perSecond) return known.rate;
    const rate = this.#makeRate(perSecond);
    this.#rates.set(provider, { perSecond, rate });
    return rate;
  }
}

const waits = new WeakMap<object, number>();

/** Milliseconds until a paused service may be retried; `undefined` for other errors. */
export function pausedForMs(error: AppError): number | undefined {
  return waits.get(error);
}

function refuse({ breaker, counter }: Service, target: ModelTarget): AppError {
  counter.refused();
  const waitMs = breaker.waitMs();
  const last = counter.read().last_failure?.error ?? "server";
  const rest = waitMs === 0 ? "while one request looks whether it is back" : `for ${Math.ceil(waitMs / 1000)} s`;
  const message = `The model ${target.name} has failed several times in a row (${last}) and is left alone ${rest}.`;
  const advice = target.advise?.("service_paused", message);
  const suggestion = advice?.en ?? target.unreachableHint;
  const error = withAdvice(new AppError("service_paused", message, { suggestion, recoverable: true }), advice);
  waits.set(error, waitMs);
  return error;
}

function under(
  service: Service,
  {
    pass,
    target,
    leave,
    onEnd,
  }: {
    pass: ReturnType<Breaker["enter"]> & object;
    target: ModelTarget;
    leave?: (() => void) | undefined;
    onEnd: OnEnd;
  },
): ServiceCall {
  const { counter } = service;
  const startedAt = performance.now();
  let hasBegun = false;
  let isOver = false;
  service.inFlight += 1;
  const call: ServiceCall = {
    answered() {
      if (hasBegun) return;
      hasBegun = true;
      counter.answering(performance.now() - startedAt);
      pass.succeeded();
    },
    finished() {
      if (isOver) return;
      isOver = true;
      call.answered();
      counter.succeeded(performance.now() - startedAt);
      onEnd(target.name);
    },
    failed(error, signal) {
      if (isOver || signal?.aborted === true) return error;
      isOver = true;
      const known = toModelError(error, target);
      counter.failed(known.code);
      if (brokeMidStream(error)) pass.succeeded();
      else pass.failed(known);
      onEnd(target.name, known);
      return known;
    },
    left() {
      if (!isOver) {
        isOver = true;
        counter.cancelled();
        pass.givenUp();
      }
      service.inFlight -= 1;
      leave?.();
    },
  };
  return call;
}

function providerOf(model: string): string {
  return model.split(":", 1)[0] ?? model;
}
