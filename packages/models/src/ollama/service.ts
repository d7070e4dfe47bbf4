import { setTimeout as pause } from "node:timers/promises";
import { AppError, isAppError } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import { toModelError } from "../model-error.ts";
import type { ProfileRows } from "../registry/profiles.ts";
import { listRunning, showModel, type OllamaPlace, type RunningModel, type ModelDetails } from "./api.ts";
import { failureAdvice } from "./advice.ts";
import { modelsEvent, statusEvent, type OllamaEvent } from "./events.ts";
import { withTimeout } from "@millrace/engine/concurrency/abort";
import { Feed } from "@millrace/engine/concurrency/feed";
import { checkHealth, isOllamaInstalled, type OllamaHealth, type OllamaStatus } from "./health.ts";
import { readInstalled, type KnownModels } from "./installed-models.ts";
import { installedModel, installedProfile, type InstalledModel } from "./installed-model.ts";

/** Delays before reconnection attempts in milliseconds. */
export const reconnectDelays: readonly number[] = [5000, 10_000, 30_000];

/** Time limit of one check in milliseconds. */
const patience = 10_000;
/** How long a list of models waits for a new address, in milliseconds. */
const newAddressPatience = 2_000;

/** The service's state at the last check. */
export interface OllamaState {
  status: OllamaStatus;
  version: string | null;
  problem: AppError | null;
  address: string;
  /** ISO-8601. */
  checked_at: string;
  models: readonly InstalledModel[];
  /** Number of the next reconnection attempt, from 1; `null` if none is planned. */
  reconnect: number | null;
}

/** Options of the service. */
export interface OllamaServiceOptions {
  /** Its current address, and whether that is this machine. */
  place: () => { address: string; isHere: boolean };
  /** Called with the available models. */
  register: (rows: ProfileRows) => void;
  /** Called after each change of its status or models, except by the first check. */
  onChange?: () => void;
  logger: Pick<Logger, "info" | "warn">;
  isInstalled?: () => Promise<boolean>;
  fetch?: typeof fetch;
  /** Waits before a reconnection attempt; rejects when the signal aborts. */
  wait?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>;
}

const noModels: KnownModels = new Map();

/**
 * An Ollama service: its status and models. Checked on demand and when a model request indicates a change; never
 * polled. After a loss it is checked after 5, 10 and 30 s.
 */
export class OllamaService {
  readonly #options: OllamaServiceOptions;
  readonly #closing = new AbortController();
  readonly #feed = new Feed<OllamaEvent>();
  #state: OllamaState | undefined;
  #known: KnownModels = noModels;
  #looking: Promise<OllamaState> | undefined;
  #reconnect: number | null = null;

  constructor(options: OllamaServiceOptions) {
    this.#options = options;
  }

  /** The last known state; `undefined` before the first check. */
  state(): OllamaState | undefined {
    return this.#state && { ...this.#state, reconnect: this.#reconnect };
  }

  /** Checks now; concurrent callers share the check. Never rejects for problems of the service. */
  async check(): Promise<OllamaState> {
    this.#looking ??= this.#look().finally(() => (this.#looking = undefined));
    const state = await this.#looking;
    return { ...state, reconnect: this.#reconnect };
  }

  /** Checks now if its address is no longer that of the last check: another server may have changed it. Waits 2 s at most. */
  async checkNewAddress(): Promise<void> {
    if (this.#state === undefined || this.#state.address === this.#options.place().address) return;
    await withTimeout(this.check(), newAddressPatience, () => undefined);
  }

  /** Called when a model request ends; checks the service if the result contradicts the state. */
  requestEnded(error?: unknown): void {
    const isRunning = this.#state?.status === "RUNNING";
    const isLost = isAppError(error) && error.code === "network";
    // A lost service is already being checked.
    if (error === undefined ? !isRunning : isLost && isRunning) this.lookSoon();
  }

  /** Starts a check in the background. */
  lookSoon(): void {
    this.check().catch((problem: unknown) => {
      if (!this.#closing.signal.aborted) this.#options.logger.warn({ err: problem }, "ollama_not_looked_at");
    });
  }

  /**
   * Details of a model, from the last check if unreachable. Throws AppErrors: `not_found` with the pull command, or how
   * to reach the service.
   */
  async show(name: string, signal: AbortSignal): Promise<InstalledModel & { capabilities: string[] | null }> {
    const known = this.#state?.models.find((model) => isNamed(model, name));
    let shown: ModelDetails;
    try {
      shown = await this.#ask(name, async (place) => await showModel(name, place), signal);
    } catch (error) {
      if (!isAppError(error) || error.code !== "network") throw error;
      if (known !== undefined) return { ...known, capabilities: null };
      const { message, suggestion = "" } = error;
      throw new AppError("not_found", `Nothing is known of the model ${name}: ${message}`, {
        suggestion,
        cause: error,
      });
    }
    const model = installedModel({ name: known?.name ?? name, size: known?.size ?? 0, details: {} }, shown);
    const { parameter_size, quantization, modified_at } = known ?? model;
    return {
      ...model,
      parameter_size: model.parameter_size ?? parameter_size,
      quantization: model.quantization ?? quantization,
      modified_at,
      capabilities: shown.capabilities ?? null,
    };
  }

  /** The models in memory. Throws AppErrors. */
  async running(signal: AbortSignal): Promise<RunningModel[]> {
    return await this.#ask("", listRunning, signal);
  }

  /** Whether a model was installed at the last check; a name without a tag means `latest`. */
  isAvailable(name: string): boolean {
    return this.#state?.status === "RUNNING" && this.#state.models.some((model) => isNamed(model, name));
  }

  /** The current state, then every change, until the signal aborts or the service is closed. */
  async *follow(signal: AbortSignal): AsyncGenerator<OllamaEvent[]> {
    const first = async (): Promise<OllamaEvent[]> => {
      const state = this.#state ?? (await this.check());
      return [statusEvent(state, null), modelsEvent(this.#known, noModels, state.checked_at)];
    };
    yield* this.#feed.follow(first, AbortSignal.any([signal, this.#closing.signal]));
  }

  /** Ends all checks and followers. */
  close(): void {
    this.#closing.abort();
  }

  async #look(): Promise<OllamaState> {
    const { place, isInstalled = isOllamaInstalled } = this.#options;
    const { address, isHere } = place();
    const context = this.#place(AbortSignal.any([this.#closing.signal, AbortSignal.timeout(patience)]));
    let health = await checkHealth(context, { isHere, isInstalled });
    let known = address === this.#state?.address ? this.#known : noModels;
    if (health.status === "RUNNING") {
      try {
        known = await readInstalled(context, known);
      } catch (error) {
        this.#closing.signal.throwIfAborted();
        health = { status: "ERROR", problem: toModelError(error) };
      }
    }
    return this.#becomes(health, known, address);
  }

  #becomes(health: OllamaHealth, known: KnownModels, address: string): OllamaState {
    const former = this.#state;
    const models = [...known.values()].map(({ model }) => model);
    const isRunning = health.status === "RUNNING";
    const state: OllamaState = {
      status: health.status,
      version: isRunning ? health.version : null,
      problem: isRunning ? null : health.problem,
      address,
      checked_at: new Date().toISOString(),
      models,
      reconnect: null,
    };
    const before = this.#known;
    this.#state = state;
    this.#known = known;
    if (known !== before) {
      const chatting = models.filter(({ can_chat }) => can_chat);
      this.#options.register(
        Object.fromEntries(chatting.map((model) => [`ollama:${model.name}`, installedProfile(model)])),
      );
      this.#publish(modelsEvent(known, before, state.checked_at));
    }
    if (former?.status !== state.status) this.#publish(statusEvent(state, former?.status ?? null));
    if (former?.status === "RUNNING" && !isRunning) void this.#lookAgain();
    if (former !== undefined && (known !== before || former.status !== state.status)) this.#options.onChange?.();
    return state;
  }

  /** Checks a lost service again. Never rejects. */
  async #lookAgain(): Promise<void> {
    if (this.#reconnect !== null) return;
    const { wait = pauseFor } = this.#options;
    try {
      for (const [index, milliseconds] of reconnectDelays.entries()) {
        this.#reconnect = index + 1;
        await wait(milliseconds, this.#closing.signal);
        if (this.#state?.status === "RUNNING" || (await this.check()).status === "RUNNING") break;
      }
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#options.logger.warn({ err: error }, "ollama_not_looked_at");
    } finally {
      this.#reconnect = null;
    }
  }

  async #ask<Answer>(
    name: string,
    question: (place: OllamaPlace) => Promise<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> {
    try {
      return await question(this.#place(AbortSignal.any([signal, this.#closing.signal])));
    } catch (error) {
      throw toModelError(error, target(name));
    }
  }

  #place(signal: AbortSignal): OllamaPlace {
    return { address: this.#options.place().address, signal, fetch: this.#options.fetch };
  }

  #publish(event: OllamaEvent): void {
    // Without Ollama there is no log line at every start.
    const isWorthTelling = event.type !== "ollama_status" || event.former !== null || event.status === "RUNNING";
    if (isWorthTelling) this.#options.logger.info(event, event.type);
    this.#feed.publish(event);
  }
}

function isNamed({ name: installed }: InstalledModel, name: string): boolean {
  return installed === name || installed === `${name}:latest`;
}

function target(name: string) {
  return {
    name: "ollama",
    address: undefined,
    unreachableHint: "",
    unknownModelHint: "",
    advise: (code: AppError["code"], message: string) => failureAdvice(code, message, name),
  };
}

async function pauseFor(milliseconds: number, signal: AbortSignal): Promise<void> {
  // The timer must not keep the process alive.
  await pause(milliseconds, undefined, { signal, ref: false });
}
