import { LRUCache } from "lru-cache";
import { AppError, withAdvice } from "@millrace/engine/errors/errors";
import { createPlaces, createRate, type Places, type Rate } from "@millrace/engine/concurrency/limits";
import { breakerSettings, createBreaker, type Breaker, type BreakerState } from "./breaker.ts";
import { toModelError } from "../model-error.ts";
import type { ModelTarget } from "../provider.ts";
import { createCounter, type Counter, type Statistics } from "./statistics.ts";
import { brokeMidStream } from "./watch-stream.ts";

/** What is to be known of a model to make requests of it. */
export interface ServiceSettings {
  /** Names the model and says what a reader can do. */
  target: ModelTarget;
  /** It runs on a machine of the user's own. */
  isLocal: boolean;
  /** Requests to its provider that may be under way at once; absent: any number. */
  maxConcurrent?: number | undefined;
  /** Requests to its provider that may begin in a second; absent: as many as come. */
  perSecond?: number | undefined;
}

/** One request, from the moment it may be made. All but the first word about how it ends is ignored. */
export interface ServiceCall {
  /** The first words are there: from now on it is no longer counted against the service. */
  answered(): void;
  finished(): void;
  /** Gives the failure as one of our errors. */
  failed(error: unknown, signal: AbortSignal | undefined): unknown;
  /** Whoever asked does not wait any more. Always called, last. */
  left(): void;
}

/** How a model's service is at the moment. */
export interface ServiceStatus {
  /** `provider:model`. */
  model: string;
  state: BreakerState;
  /** Milliseconds until a request may look whether it is back; 0 where requests are let through. */
  retry_in_ms: number;
  /** Requests under way. */
  in_flight: number;
  statistics: Statistics;
}

/** Told which model was asked, and with which error that ended; without one it ended well. */
type OnEnd = (model: string, error?: AppError) => void;

interface Service {
  breaker: Breaker;
  counter: Counter;
  inFlight: number;
}

/** Names come from requests, so their number is bounded; the one that was asked least lately is forgotten. */
const mostServices = 500;
const never = new AbortController().signal;

/**
 * Every model that this process asks: one breaker and one account for each, one bulkhead and one rate for each
 * provider, shared by all runs.
 */
export class ModelServices {
  readonly #services = new LRUCache<string, Service>({ max: mostServices });
  readonly #bulkheads = new Map<string, { places: number; bulkhead: Places }>();
  readonly #rates = new Map<string, { perSecond: number; rate: Rate }>();
  readonly #makeRate: (perSecond: number) => Rate;
  readonly #onEnd: OnEnd;

  /**
   * `onEnd` is told how each request to a model has ended; `makeRate` makes what bounds the requests of a provider,
   * which a test does in its own way.
   */
  constructor({ onEnd, makeRate = createRate }: { onEnd?: OnEnd; makeRate?: (perSecond: number) => Rate } = {}) {
    this.#makeRate = makeRate;
    this.#onEnd = onEnd ?? (() => undefined);
  }

  /** Waits until the provider may be asked. Throws `service_paused` at once while the model is left alone. */
  async begin(settings: ServiceSettings, signal: AbortSignal | undefined): Promise<ServiceCall> {
    const { target } = settings;
    const service = this.#service(target.name, settings.isLocal);
    if (service.breaker.waitMs() > 0) throw refuse(service, target);
    await this.#rate(settings)?.take(signal ?? never);
    const leave = await this.#bulkhead(settings)?.enter(signal ?? never);
    const pass = service.breaker.enter();
    if (pass === undefined) {
      leave?.();
      throw refuse(service, target);
    }
    return under(service, { pass, target, leave, onEnd: this.#onEnd });
  }

  /** How every model is that has been asked, or those of one provider. */
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

  #bulkhead({ target, maxConcurrent: places }: ServiceSettings): Places | undefined {
    if (places === undefined) return undefined;
    const provider = providerOf(target.name);
    const known = this.#bulkheads.get(provider);
    if (known?.places === places) return known.bulkhead;
    const bulkhead = createPlaces(places);
    this.#bulkheads.set(provider, { places, bulkhead });
    return bulkhead;
  }

  #rate({ target, perSecond }: ServiceSettings): Rate | undefined {
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

/** Milliseconds that are to pass before a service that is left alone may be asked again; `undefined` of other errors. */
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
      counter.begun(performance.now() - startedAt);
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
