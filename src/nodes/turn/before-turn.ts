import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { emit } from "../../loop/request.ts";
import { promptsOf, runIdOf, servicesOf, sessionIdOf } from "../../loop/services.ts";
import { isProviderSearchAvailable } from "@millrace/models/provider-search";
import type { GraphState, RunContext } from "../../state.ts";
import { toolkits } from "../../toolkits/index.ts";
import type { TurnFindings, TurnStart } from "../../toolkits/toolkit.ts";
import { modelForWork } from "./node-model.ts";
import { cachedPerTurn } from "./once-a-turn.ts";
import { runToolkits } from "./run-toolkits.ts";

const once = cachedPerTurn<readonly TurnFindings[]>();

/** Toolkits' findings before a turn's first model call; all run in parallel, once per turn. */
export async function findBeforeTurn(
  state: GraphState,
  turn: Pick<TurnStart, "request" | "context" | "tokensFor">,
  config: LangGraphRunnableConfig,
): Promise<readonly TurnFindings[]> {
  const sources = toolkits.flatMap(({ name, beforeTurn }) =>
    beforeTurn?.isWanted(turn.context) === true ? [{ name, beforeTurn }] : [],
  );
  if (sources.length === 0) return [];
  const { toolkitServices: services } = servicesOf(config);
  const chosen = runToolkits(turn.context, config);
  const signal = config.signal ?? new AbortController().signal;
  const parts = {
    ...turn,
    services,
    prompts: promptsOf(config),
    emit: (event: Parameters<TurnStart["emit"]>[0]) => emit(config, event),
    warn: warnIn(config),
  };
  return await once(state, config, async () =>
    Promise.all(
      sources.map(async ({ name, beforeTurn }) => {
        const isChosen = chosen.some((toolkit) => toolkit.name === name);
        return beforeTurn.find({ ...parts, isChosen }, signal);
      }),
    ),
  );
}

const warned = cachedPerTurn<true>();

/**
 * Emits `web_search_error` once per turn if the run wants the model's vendor to search the web and the vendor cannot.
 */
export async function checkVendorSearch(
  state: GraphState,
  context: RunContext,
  config: LangGraphRunnableConfig,
): Promise<void> {
  if (context.web_search !== "provider") return;
  const model = modelForWork("main", state.messages, context, config);
  if (isProviderSearchAvailable(model)) return;
  await warned(state, config, async () => {
    const [engine = model] = model.split(":");
    const error_type = "invalid_parameter";
    const message = `Models of ${engine} do not search the web.`;
    const suggestion = "Choose a model of zhipu, or the general search (web_search: general).";
    warnIn(config)({ engine, error_type, reason: message, suggestion }, "web_search_failed");
    emit(config, { type: "web_search_error", engine, error_type, message, suggestion });
    return true;
  });
}

/** Logs a warning with session and run id. */
function warnIn(config: LangGraphRunnableConfig): TurnStart["warn"] {
  const run = { session_id: sessionIdOf(config), run_id: runIdOf(config) };
  return (about, message) => servicesOf(config).logger?.warn({ ...run, ...about }, message);
}
