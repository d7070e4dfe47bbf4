import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { Serialized } from "@langchain/core/load/serializable";
import { CallbackManager, type CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { LLMResult } from "@langchain/core/outputs";
import { Pregel } from "@langchain/langgraph/pregel";
import { z } from "zod";
import { limitsOf, type LimitName, type OwnerLimits } from "../config/owner-limits.ts";
import { withinRun } from "../storage/attempt-store.ts";
import type { Run } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import type { Usage, UsageEntry } from "../storage/usage.ts";
import { dayOf, limitError, noUsage, readOwnUsage, type SpentLimit, spentLimit } from "./owner-usage.ts";

/** What all runs' accounts share. */
export interface AccountParts {
  storage: Pick<Storage, "sessions" | "usage">;
  limits: OwnerLimits;
  /** Model calls refused, by limit. */
  refused: Partial<Record<LimitName, number>>;
}

/** What an answered model call used, and how long it took: to its end, and to its first words where that is known. */
export interface AnsweredCall extends Omit<Usage, "requests"> {
  /** `provider:model`. */
  model: string;
  duration_ms: number;
  first_token_ms: number | null;
}

const noTime = { first_token_ms: 0, first_tokens: 0 };

/** One run's model usage against its owner's limits. The owner is looked up with the first model call. */
export class OwnerAccount {
  /** Whether any owner has limits. */
  readonly hasLimits: boolean;
  readonly #run: Pick<Run, "session_id" | "kwargs">;
  readonly #log: { count(entry: UsageEntry): void };
  readonly #parts: AccountParts;
  #owner: Promise<string> | undefined;

  constructor(run: Pick<Run, "session_id" | "kwargs">, log: { count(entry: UsageEntry): void }, parts: AccountParts) {
    this.#run = run;
    this.#log = log;
    this.#parts = parts;
    this.hasLimits = Object.keys(parts.limits).length > 0;
  }

  /** Adds a model's answer; stored with the run's next write. */
  async count({ first_token_ms, ...answer }: AnsweredCall): Promise<void> {
    const first = first_token_ms === null ? noTime : { first_token_ms, first_tokens: 1 };
    await this.#add({ ...answer, ...first, requests: 1, failed: 0 });
  }

  /** Adds a call of a model that failed. */
  async countFailure(model: string): Promise<void> {
    await this.#add({ ...noUsage, ...noTime, model, failed: 1, duration_ms: 0 });
  }

  async #add(entry: Omit<UsageEntry, "owner" | "day">): Promise<void> {
    this.#log.count({ ...entry, owner: await this.#ownerOf(), day: dayOf(Date.now()) });
  }

  /** The limit that forbids another model call; owners without limits cause no read. */
  async spent(): Promise<SpentLimit | undefined> {
    const { limits: all, storage, refused } = this.#parts;
    if (!this.hasLimits) return undefined;
    const owner = await this.#ownerOf();
    const limits = limitsOf(all, owner);
    if (Object.keys(limits).length === 0) return undefined;
    const now = Date.now();
    const spent = spentLimit(limits, await readOwnUsage(storage.usage, owner, now), now);
    if (spent !== undefined) refused[spent.name] = (refused[spent.name] ?? 0) + 1;
    return spent;
  }

  #ownerOf(): Promise<string> {
    const { session_id, kwargs } = this.#run;
    this.#owner ??=
      kwargs.owner === undefined
        ? this.#parts.storage.sessions.get(session_id).then((session) => session?.owner ?? "")
        : Promise.resolve(kwargs.owner);
    return this.#owner;
  }
}

/** Money per million tokens. */
interface Price {
  input: number;
  output: number;
}

/** A call that goes on. */
interface CallInFlight {
  model: string;
  price: Price | undefined;
  begun: number;
}

/** The price of a model by LangChain's names of its vendor and itself, if known. */
export type PriceOf = (vendor: string, name: string) => Price | undefined;

type Account = Pick<OwnerAccount, "count" | "countFailure" | "spent" | "hasLimits">;

/** The model of a call, as LangChain reports it. */
const Origin = z.object({
  ls_provider: z.string().default("").catch(""),
  ls_model_name: z.string().default("").catch(""),
});

/** The counted fields of an answer. */
const Answer = z.object({
  usage_metadata: z.object({
    input_tokens: z.number().nonnegative(),
    output_tokens: z.number().nonnegative(),
    input_token_details: z.object({ cache_read: z.number().nonnegative().optional() }).optional().catch(undefined),
  }),
});

/**
 * Counts the model calls of a graph that calls models itself, as far as answers report usage, and refuses them above
 * the owner's limit. The agent's loop does both for its own calls. It is a handler of the run only where it may have to
 * refuse a call; otherwise models report to it, as `observeModelCalls` says.
 */
export class UsageHandler extends BaseCallbackHandler {
  readonly name = "usage";
  override readonly ignoreChain = true;
  override readonly ignoreAgent = true;
  override readonly ignoreRetriever = true;
  override readonly ignoreCustomEvent = true;
  /** Whether calls may have to be refused. */
  readonly hasLimits: boolean;
  readonly #account: Account;
  readonly #priceOf: PriceOf;
  readonly #calls = new Map<string, CallInFlight>();

  constructor(account: Account, priceOf: PriceOf = () => undefined) {
    super();
    this.hasLimits = account.hasLimits;
    this.#account = account;
    this.#priceOf = priceOf;
    // An error must prevent the model call, and usage must be in the following checkpoint.
    this.raiseError = true;
    this.awaitHandlers = true;
  }

  override async handleChatModelStart(
    ...callbackArguments: Parameters<NonNullable<BaseCallbackHandler["handleChatModelStart"]>>
  ) {
    const [, , runId, , , , metadata] = callbackArguments;
    await this.#refuseAboveLimit();
    this.begin(runId, metadata);
  }

  override async handleLLMStart(
    _model: Serialized,
    _prompts: string[],
    ...callbackArguments: [string, string?, Record<string, unknown>?, string[]?, Record<string, unknown>?]
  ) {
    const [runId, , , , metadata] = callbackArguments;
    await this.#refuseAboveLimit();
    this.begin(runId, metadata);
  }

  async #refuseAboveLimit(): Promise<void> {
    const spent = await this.#account.spent();
    if (spent !== undefined) throw limitError(spent);
  }

  /** Notes that a call begins; `metadata` is what LangChain says of its model. */
  begin(runId: string, metadata: Record<string, unknown> = {}): void {
    const { ls_provider, ls_model_name } = Origin.parse(metadata);
    const model = [ls_provider, ls_model_name].filter((part) => part !== "").join(":");
    this.#calls.set(runId, { model, price: this.#priceOf(ls_provider, ls_model_name), begun: performance.now() });
  }

  override async handleLLMEnd(output: LLMResult, runId: string): Promise<void> {
    const call = this.#calls.get(runId);
    this.#calls.delete(runId);
    if (call === undefined) return;
    const { model, price, begun } = call;
    const times = { duration_ms: performance.now() - begun, first_token_ms: null };
    for (const generation of output.generations.flat()) {
      const callbackArguments = Answer.safeParse("message" in generation ? generation.message : undefined);
      if (!callbackArguments.success) continue;
      const { input_tokens, output_tokens, input_token_details } = callbackArguments.data.usage_metadata;
      const cost = price === undefined ? 0 : (input_tokens * price.input + output_tokens * price.output) / 1_000_000;
      const cached_tokens = input_token_details?.cache_read ?? 0;
      await this.#account.count({ model, input_tokens, output_tokens, cached_tokens, cost, ...times });
    }
  }

  override async handleLLMError(error: unknown, runId: string): Promise<void> {
    const call = this.#calls.get(runId);
    this.#calls.delete(runId);
    const isStopped = error instanceof Error && error.name === "AbortError";
    if (call !== undefined && !isStopped) await this.#account.countFailure(call.model);
  }
}

/** Whether models report their calls; `undefined` until a run wants to know of them. */
let isObserving: boolean | undefined;
/** What receives them, by the stop signal of the run. */
const receivers = new WeakMap<AbortSignal, UsageHandler>();

/**
 * Makes `usage` receive the calls of models in the run of this stop signal. `false` where it has to be a callback handler: an
 * owner's limit holds also where the graph passes only its configuration on, and a graph may bring a LangChain of its own.
 */
export function receivesModelCalls(usage: UsageHandler, graph: object, signal: AbortSignal): boolean {
  isObserving ??= observeModelCalls();
  if (!isObserving || usage.hasLimits || !(graph instanceof Pregel)) return false;
  receivers.set(signal, usage);
  return true;
}

/**
 * Makes models report their calls. A callback handler would do so too, but LangChain gives it to every runnable around the
 * model and asks it for every token: 14 % of a short agent's run. Returns `false`, doing nothing, if the library differs from
 * the version this was written for (@langchain/core 1.4).
 */
function observeModelCalls(): boolean {
  if (CallbackManager.configure?.length !== 7) return false;
  const configure = CallbackManager.configure.bind(CallbackManager);
  CallbackManager.configure = (inherited, ...parameters) => {
    const options = parameters[5];
    // Only models pass this option; tools and retrievers do not.
    const isModel = options !== undefined && "tracerInheritableMetadata" in options;
    const signal = isModel ? withinRun.getStore() : undefined;
    const usage = signal === undefined ? undefined : receivers.get(signal);
    const manager = configure(usage === undefined ? inherited : (inherited ?? []), ...parameters);
    if (usage !== undefined && manager !== undefined) reportTo(usage, manager);
    return manager;
  };
  return true;
}

/** Reports the calls that a model starts with this manager. */
function reportTo(usage: UsageHandler, manager: CallbackManager): void {
  const startChatModel = manager.handleChatModelStart.bind(manager);
  const startModel = manager.handleLLMStart.bind(manager);
  const report = (calls: CallbackManagerForLLMRun[]): CallbackManagerForLLMRun[] => {
    for (const call of calls) reportCall(usage, call, manager.metadata);
    return calls;
  };
  manager.handleChatModelStart = async (...parameters) => report(await startChatModel(...parameters));
  manager.handleLLMStart = async (...parameters) => report(await startModel(...parameters));
}

function reportCall(usage: UsageHandler, call: CallbackManagerForLLMRun, metadata: Record<string, unknown>): void {
  const end = call.handleLLMEnd.bind(call);
  const fail = call.handleLLMError.bind(call);
  usage.begin(call.runId, metadata);
  call.handleLLMEnd = async (output, ...parameters) => {
    await usage.handleLLMEnd(output, call.runId);
    await end(output, ...parameters);
  };
  call.handleLLMError = async (error, ...parameters) => {
    await usage.handleLLMError(error, call.runId);
    await fail(error, ...parameters);
  };
}
