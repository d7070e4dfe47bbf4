import { isAIMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { unlessAborted } from "@millrace/engine/concurrency/abort";
import { errorMessage } from "@millrace/engine/errors/errors";
import { inputTokens } from "../../context/budget.ts";
import { emit } from "../../loop/request.ts";
import { profilesOf, promptsOf, servicesOf } from "../../loop/services.ts";
import { modelLimits } from "@millrace/models/registry/model-limits";
import type { ContextLayer } from "../../prompts/injector.ts";
import type { GraphState, RunContext } from "../../state.ts";
import type { SessionStart, SessionText } from "../../toolkits/toolkit.ts";
import { modelForWork } from "../turn/node-model.ts";
import { lastUserText } from "../turn/request-words.ts";
import { availableToolkits } from "../turn/run-toolkits.ts";

/** A toolkit's text: milliseconds to write it, maximum tokens, and maximum share of the model's window. */
const [maxTime, maxTokens, maxShare] = [2000, 800, 0.05];

/**
 * Toolkits' texts for a session, as fields of the state, written once before the first model call. One that fails or
 * times out stays empty for the session and emits a `context_warning`.
 */
export async function writeSessionTexts(
  state: GraphState,
  context: RunContext,
  config: LangGraphRunnableConfig,
): Promise<Record<string, string>> {
  if (context.agent !== undefined || state.messages.some((message) => isAIMessage(message))) return {};
  const writing = textsOf(context, config);
  if (writing.length === 0) return {};
  const about = sessionStart(state, context, config);
  const written = await Promise.all(
    writing.map(async ({ name, text }) => [text.field, await writtenBy(name, text, about, config)] as const),
  );
  return Object.fromEntries(written);
}

/** The stored texts, as layers for runs with these toolkits and the server's identity. */
export function sessionTexts(state: GraphState, context: RunContext, config: LangGraphRunnableConfig): ContextLayer[] {
  if (context.agent !== undefined || context.system !== undefined) return [];
  const fields: Readonly<Record<string, unknown>> = state;
  return textsOf(context, config).flatMap(({ name, text: { field } }) => {
    const text = fields[field];
    return typeof text === "string" && text !== "" ? [{ name, text }] : [];
  });
}

function textsOf(context: RunContext, config: LangGraphRunnableConfig): { name: string; text: SessionText }[] {
  return availableToolkits(context, config).flatMap(({ name, workflow }) =>
    workflow.sessionText === undefined ? [] : [{ name, text: workflow.sessionText }],
  );
}

function sessionStart(
  state: GraphState,
  context: RunContext,
  config: LangGraphRunnableConfig,
): Omit<SessionStart, "warn"> {
  const { toolkitServices: services, contextLimit } = servicesOf(config);
  const model = modelForWork("main", state.messages, context, config);
  const readable = inputTokens(modelLimits(model, contextLimit, profilesOf(config)));
  const tokens = Math.min(maxTokens, Math.floor(readable * maxShare));
  return { request: lastUserText(state.messages), tokens, services, context, prompts: promptsOf(config) };
}

async function writtenBy(
  source: string,
  text: SessionText,
  about: Omit<SessionStart, "warn">,
  config: LangGraphRunnableConfig,
): Promise<string> {
  const limit = AbortSignal.timeout(maxTime);
  const signal = config.signal === undefined ? limit : AbortSignal.any([config.signal, limit]);
  const warn = (reason: string): void => emit(config, { type: "context_warning", source, reason });
  try {
    return await unlessAborted(text.write({ ...about, warn }, signal), signal);
  } catch (error) {
    config.signal?.throwIfAborted();
    warn(limit.aborted ? `it took longer than ${maxTime} ms` : errorMessage(error));
    return "";
  }
}
