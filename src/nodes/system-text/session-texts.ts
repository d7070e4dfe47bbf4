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
import { requestOf } from "../turn/request-words.ts";
import { availableToolkits } from "../turn/run-toolkits.ts";

/** Milliseconds that a toolkit may take for its text, its tokens at most, and the share of the model's window. */
const [patience, mostTokens, mostShare] = [2000, 800, 0.05];

/**
 * The texts that toolkits have for a session, as fields of the state: written before the first model call, never again.
 * One that fails or takes too long is left out for the session, and told.
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

/** The texts as they were written, for the system text of a run that has their toolkits and the server's identity. */
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
  const tokens = Math.min(mostTokens, Math.floor(readable * mostShare));
  return { request: requestOf(state.messages), tokens, services, context, prompts: promptsOf(config) };
}

async function writtenBy(
  source: string,
  text: SessionText,
  about: Omit<SessionStart, "warn">,
  config: LangGraphRunnableConfig,
): Promise<string> {
  const limit = AbortSignal.timeout(patience);
  const signal = config.signal === undefined ? limit : AbortSignal.any([config.signal, limit]);
  const warn = (reason: string): void => emit(config, { type: "context_warning", source, reason });
  try {
    return await unlessAborted(text.write({ ...about, warn }, signal), signal);
  } catch (error) {
    config.signal?.throwIfAborted();
    warn(limit.aborted ? `it took longer than ${patience} ms` : errorMessage(error));
    return "";
  }
}
