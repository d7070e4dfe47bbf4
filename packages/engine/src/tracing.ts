import { setTimeout as sleep } from "node:timers/promises";
import { RunnableLambda, type RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { LangChainTracer } from "@langchain/core/tracers/tracer_langchain";
import { Client } from "langsmith";
import { createAnonymizer } from "langsmith/anonymizer";
import type { Config } from "./config/config.ts";
import { isSecret, secretForms } from "./config/api-keys.ts";
import { withTimeout } from "./concurrency/abort.ts";
import type { Logger } from "./logger.ts";
import type { Run } from "./storage/records.ts";

/**
 * The process's connection to LangSmith. `flush` sends what is pending within `limitMs`; an unreachable server never
 * delays it.
 */
export interface Tracing {
  tracer: LangChainTracer;
  /** A tracer for a run that also belongs to another project or to an example of a data set. */
  tracerFor: (place: { project_name?: string | undefined; example_id?: string | undefined }) => LangChainTracer;
  /** Public feedback URLs of a run, one per key. Throws the server's error. */
  feedbackUrls: (runId: string, keys: readonly string[]) => Promise<Record<string, string>>;
  flush(limitMs: number): Promise<void>;
}

/**
 * Tracing for the process, or `undefined` without a key. Spans are sent in batches in the background; an unreachable
 * server costs only the spans. The environment's secrets, and `usedKeys`, which may change at any time, are redacted.
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

/** Runs a tool call inside a span `tool_<name>` if the run is traced; otherwise just runs it. */
export async function toolSpan<Result>(
  { name, id }: { name: string; id: string },
  input: Record<string, unknown>,
  config: RunnableConfig,
  work: () => Promise<Result>,
): Promise<Result> {
  if (!isTraced(config.callbacks, tracerNames)) return await work();
  let result: Result | undefined;
  const span = RunnableLambda.from(async () => {
    result = await work();
    return result;
  });
  const metadata = { ...config.metadata, [toolKey]: name, [callKey]: id };
  await span.invoke(input, { ...config, metadata, runName: spanName(name) });
  // The lambda above has completed, so the result is set.
  return result as Result;
}

/** The recorded input of a loop's span, if the run is traced; otherwise nothing is computed. */
export function spanInput(
  config: RunnableConfig,
  { history, tools }: { history: readonly unknown[]; tools: readonly unknown[] },
): object {
  return isTraced(config.callbacks, langsmith) ? { message_count: history.length, tool_count: tools.length } : {};
}

/** Span metadata keys of the tool and its call id. */
const toolKey = "gen_ai.tool.name";
const callKey = "gen_ai.tool.call.id";

function spanName(tool: string): string {
  return `tool_${tool}`;
}

/** The call that `toolSpan` recorded in this span; `undefined` for any other span. */
export function toolOfSpan(
  name: string,
  metadata: Record<string, unknown>,
): { tool: string; callId: string | undefined } | undefined {
  const { [toolKey]: tool, [callKey]: id } = metadata;
  // Child runs inherit the metadata, but have other names.
  if (typeof tool !== "string" || name !== spanName(tool)) return undefined;
  return { tool, callId: typeof id === "string" ? id : undefined };
}

/** The name of LangSmith's handler, and those of all that receive spans. */
const langsmith = ["langchain_tracer"];
const tracerNames = [...langsmith, "opentelemetry"];

/** Whether one of these tracers receives the spans. */
function isTraced(callbacks: RunnableConfig["callbacks"], by: readonly string[]): boolean {
  if (callbacks === undefined) return false;
  const handlers = Array.isArray(callbacks) ? callbacks : callbacks.handlers;
  return handlers.some((handler) => "name" in handler && by.includes(handler.name ?? ""));
}

const childConfigKey = Symbol.for("lc:child_config");
const contextVariablesKey = Symbol.for("lc:context_variables");

/** What LangChain keeps per step in its async storage; the property bag of a span that is never sent. */
type StepStore = { tracingEnabled: false; extra: { [childConfigKey]: unknown }; [contextVariablesKey]?: unknown };

/**
 * Spares each step the span that LangChain builds even without tracing: a fifth or more of a superstep's time. Only for
 * a process without tracing; a run with its own tracer still gets spans. Returns `false`, doing nothing, if the library
 * differs from the version this was written for (@langchain/core 1.4).
 */
export function skipIdleTracing(): boolean {
  const provider = AsyncLocalStorageProviderSingleton;
  if (provider.runWithConfig?.length !== 3 || typeof provider.getInstance !== "function") return false;
  const original = provider.runWithConfig.bind(provider);
  provider.runWithConfig = function runWithConfig<T>(config: RunnableConfig, callback: () => T, noRoot?: boolean): T {
    if (isTraced(config?.callbacks, langsmith)) return original(config, callback, noRoot);
    const storage = provider.getInstance();
    const previous: unknown = storage.getStore();
    const variables =
      typeof previous === "object" && previous !== null && contextVariablesKey in previous
        ? { [contextVariablesKey]: previous[contextVariablesKey] }
        : undefined;
    const store: StepStore = { tracingEnabled: false, extra: { [childConfigKey]: config }, ...variables };
    return storage.run(noRoot === true ? variables : store, callback);
  };
  return true;
}

/** Milliseconds that a run waits at its end for the addresses of its feedback, which were asked for at its beginning. */
const feedbackPatience = 3000;

/**
 * Asks for the addresses for feedback (`feedback_keys`), in parallel to the work. `undefined` without tracing, or when the
 * answer does not come in time: the run does not fail because of it.
 */
export async function feedbackOf(
  { run_id, kwargs }: Pick<Run, "run_id" | "kwargs">,
  { feedbackUrls, logger }: { feedbackUrls?: Tracing["feedbackUrls"] | undefined; logger: Pick<Logger, "warn"> },
): Promise<Record<string, string> | undefined> {
  const { feedback_keys: keys = [] } = kwargs;
  if (feedbackUrls === undefined || keys.length === 0) return undefined;
  const late = sleep(feedbackPatience, undefined, { ref: false });
  const urls = feedbackUrls(run_id, keys).catch((error: unknown) => {
    logger.warn({ err: error, run_id }, "feedback_not_asked");
    return undefined;
  });
  return await Promise.race([urls, late]);
}
