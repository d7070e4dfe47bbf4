import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { RunnableLambda, type RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { Client } from "langsmith";
import { createAnonymizer } from "langsmith/anonymizer";
import type { Config } from "./config/config.ts";
import { isSecret, secretForms } from "./config/api-keys.ts";
import { withTimeout } from "./concurrency/abort.ts";

/** The process's way to LangSmith. `flush` sends what waits, within `limitMs`; an unreachable server never holds it up. */
export interface Tracing {
  tracer: LangChainTracer;
  /** The same for a run whose spans go to another project as well, or that stands for an example of a data set. */
  tracerFor: (place: { project_name?: string | undefined; example_id?: string | undefined }) => LangChainTracer;
  /** Addresses by which anybody may judge a run, one for each key. Throws what the server answers. */
  feedbackUrls: (runId: string, keys: readonly string[]) => Promise<Record<string, string>>;
  flush(limitMs: number): Promise<void>;
}

/**
 * Tracing for the process, or `undefined` without a key. Spans leave in batches beside the work; a server that cannot
 * be reached costs nothing but the spans. The environment's secrets are replaced before anything leaves, and
 * `usedKeys`, which may change at any time.
 */
export function createTracing(config: Config, usedKeys: () => readonly string[] = () => []): Tracing | undefined {
  if (!config.langsmith.enabled) return undefined;
  const given = Object.entries(config.given).flatMap(([name, value]) => (isSecret(name) ? [value.trim()] : []));
  const configured = [...config.apiKeys.map(({ key }) => key), ...given];
  const anonymize = (text: string): string => {
    const known = [...configured, ...usedKeys()].filter((key) => key.length >= 6);
    const without = known.reduce((rest, key) => rest.replaceAll(key, "[redacted]"), text);
    return secretForms.reduce((rest, { pattern, replace }) => rest.replace(pattern, replace), without);
  };
  const client = new Client({
    ...(config.langsmith.apiKey === undefined ? {} : { apiKey: config.langsmith.apiKey }),
    ...(config.langsmith.endpoint === undefined ? {} : { apiUrl: config.langsmith.endpoint }),
    anonymizer: createAnonymizer(anonymize),
  });
  const { project } = config.langsmith;
  return {
    tracer: new LangChainTracer({ client, ...(project === undefined ? {} : { projectName: project }) }),
    tracerFor({ project_name, example_id }) {
      const own = project ?? "default";
      const besides = project_name === undefined || project_name === own ? [] : [{ projectName: own }];
      const updates = example_id === undefined ? {} : { updates: { reference_example_id: example_id } };
      const replicas = [{ projectName: project_name ?? own, ...updates }, ...besides];
      return new LangChainTracer({ client, projectName: own, replicas });
    },
    feedbackUrls: async (runId, keys) => {
      const tokens = await Promise.all(keys.map((key) => client.createPresignedFeedbackToken(runId, key)));
      return Object.fromEntries(tokens.map(({ url }, index) => [keys[index], url]));
    },
    flush: async (limitMs) => {
      await withTimeout(client.awaitPendingTraceBatches(), limitMs, () => undefined);
    },
  };
}

/** Runs a tool call inside a span `tool_<name>` when the run is traced; otherwise just runs it. */
export async function toolSpan<Result>(
  { name, id }: { name: string; id: string },
  input: Record<string, unknown>,
  config: RunnableConfig,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!isWatched(config)) return await work();
  let result: Result | undefined;
  const span = RunnableLambda.from(async () => {
    result = await work();
    return result;
  });
  const metadata = { ...config.metadata, [toolKey]: name, [callKey]: id };
  await span.invoke(input, { ...config, metadata, runName: spanName(name) });
  // The lambda above has run to its end, so the result is there.
  return result as Result;
}

/** What the span of a loop says it was given, where the run is traced; else nothing is counted. */
export function spanInput(
  config: RunnableConfig,
  { history, tools }: { history: readonly unknown[]; tools: readonly unknown[] },
): object {
  return isTraced(config) ? { message_count: history.length, tool_count: tools.length } : {};
}

/** The keys of a span's metadata that say which tool was called, and by which call. */
const toolKey = "gen_ai.tool.name";
const callKey = "gen_ai.tool.call.id";

function spanName(tool: string): string {
  return `tool_${tool}`;
}

/** The call that `toolSpan` has put into the span of this name; `undefined` for any other span. */
export function toolOfSpan(
  name: string,
  metadata: Record<string, unknown>,
): { tool: string; callId: string | undefined } | undefined {
  const { [toolKey]: tool, [callKey]: id } = metadata;
  // What runs below inherits the metadata, but has another name.
  if (typeof tool !== "string" || name !== spanName(tool)) return undefined;
  return { tool, callId: typeof id === "string" ? id : undefined };
}

/** Whether LangSmith gets spans of it. */
function isTraced(config: RunnableConfig): boolean {
  return config.callbacks !== undefined && hasHandler(config.callbacks, ["langchain_tracer"]);
}

/** Whether anybody gets spans of it. */
function isWatched(config: RunnableConfig): boolean {
  return config.callbacks !== undefined && hasHandler(config.callbacks, ["langchain_tracer", "opentelemetry"]);
}

function hasHandler(callbacks: NonNullable<RunnableConfig["callbacks"]>, names: readonly string[]): boolean {
  const handlers = Array.isArray(callbacks) ? callbacks : callbacks.handlers;
  return handlers.some((handler) => "name" in handler && names.includes(handler.name ?? ""));
}

const childConfigKey = Symbol.for("lc:child_config");
const contextVariablesKey = Symbol.for("lc:context_variables");

/** The key of `configurable` under which a run lends its steps a handler; its two underscores keep it from clients and spans. */
const stepHandlerKey = "__millrace_step_handler";

/** A step's configuration, with the handler that its run has lent it: only what the step itself calls pays for it. */
function withStepHandler(config: RunnableConfig | undefined): RunnableConfig | undefined {
  // Only `placeHandlers` sets this key.
  const handler = config?.configurable?.[stepHandlerKey] as BaseCallbackHandler | undefined;
  return handler === undefined || config?.callbacks !== undefined ? config : { ...config, callbacks: [handler] };
}

/** Whether steps are given the handler that their run lends them. */
let lendsHandlers = false;

/**
 * Where the handlers of a run stand. A handler of the run costs each superstep something, so what only counts model calls
 * is lent to the steps, unless the run has handlers anyway, or nothing may be missed: a model that is a node by itself is
 * in no step.
 */
export function placeHandlers(
  tracers: readonly BaseCallbackHandler[],
  usage: (BaseCallbackHandler & { readonly hasLimits: boolean }) | undefined,
  hasOthers: boolean,
): { callbacks: BaseCallbackHandler[]; configurable: Record<string, BaseCallbackHandler> } {
  if (usage === undefined) return { callbacks: [...tracers], configurable: {} };
  const isOfRun = tracers.length > 0 || hasOthers || usage.hasLimits || !lendsHandlers;
  return isOfRun
    ? { callbacks: [...tracers, usage], configurable: {} }
    : { callbacks: [], configurable: { [stepHandlerKey]: usage } };
}

/** What LangChain keeps per step in its async storage; the property bag of a span that is never sent. */
type StepStore = { tracingEnabled: false; extra: { [childConfigKey]: unknown }; [contextVariablesKey]?: unknown };

/**
 * Spares each step the span that LangChain builds although nobody is tracing: a fifth of the time of a superstep and
 * more. Only for a process without tracing; a run that brings a tracer of its own still gets its spans. Does nothing,
 * and says `false`, when the library is not shaped as the version this was written for (@langchain/core 1.4).
 */
export function skipIdleTracing(): boolean {
  const provider = AsyncLocalStorageProviderSingleton;
  if (provider.runWithConfig?.length !== 3 || typeof provider.getInstance !== "function") return false;
  const original = provider.runWithConfig.bind(provider);
  provider.runWithConfig = function runWithConfig<T>(config: RunnableConfig, callback: () => T, noRoot?: boolean): T {
    if (isTraced(config ?? {})) return original(config, callback, noRoot);
    const storage = provider.getInstance();
    const previous: unknown = storage.getStore();
    const variables =
      typeof previous === "object" && previous !== null && contextVariablesKey in previous
        ? { [contextVariablesKey]: previous[contextVariablesKey] }
        : undefined;
    const store: StepStore = {
      tracingEnabled: false,
      extra: { [childConfigKey]: withStepHandler(config) },
      ...variables,
    };
    return storage.run(noRoot === true ? variables : store, callback);
  };
  lendsHandlers = true;
  return true;
}
