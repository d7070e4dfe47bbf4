import { isHumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { collectedTokens, inputTokens, usualShares } from "../../context/budget.ts";
import { collectContext } from "../../context/collect.ts";
import type { CollectionContext } from "../../context/collectors/collector.ts";
import { circuitEndings } from "../../../toolkits/circuits/collectors/circuit-file.ts";
import { collectors } from "../../context/collectors/index.ts";
import { searchWorkspace } from "../../context/workspace/search-workspace.ts";
import { textOf } from "@millrace/engine/message-text";
import { attachmentsLayer, documentLayer, referencesLayer } from "../../context/layers.ts";
import { emit } from "../../loop/request.ts";
import { profilesOf, promptsOf, rolesOf, servicesOf, sessionIdOf } from "../../loop/services.ts";
import { modelLimits } from "../../models/registry/model-limits.ts";
import type { GraphState, RunContext } from "../../state.ts";
import type { UserReference } from "../../user-context.ts";
import { collectorsWith } from "../../toolkits/enabled-toolkits.ts";
import { carriedBy } from "./carried.ts";
import { runContext } from "./node-request.ts";
import { onceATurn } from "./once-a-turn.ts";
import { runToolkits } from "./run-toolkits.ts";
import { checkVendorSearch, searchAhead } from "./search-ahead.ts";
import type { GatheredContext } from "./system-layers.ts";

const once = onceATurn<GatheredContext["before"]>();

const nothing: GatheredContext = { before: [], after: [], found: [] };

/**
 * What the model is told of this turn besides the conversation: what collectors find about the circuit of the session,
 * or of the editor, what the web has of it where the run wants that searched, and what the editor shows and refers to.
 * A run that has none of it costs nothing.
 */
export async function gatherContext(state: GraphState, config: LangGraphRunnableConfig): Promise<GatheredContext> {
  const context = runContext(config);
  const { document, agent, web_search } = context;
  const carried = carriedBy(state.messages);
  const references = withoutRepeats([...(context.references ?? []), ...carried.references]);
  const circuit = state.circuit_file_path ?? shownCircuit(document, servicesOf(config).workspace);
  const hasPaths = [circuit, state.sim_result_path, state.design_goals_path].some((path) => path !== null);
  const isAsked = document !== undefined || hasPaths || (web_search ?? "off") !== "off";
  const brings = references.length > 0 || carried.attachments.length > 0;
  if (agent !== undefined || !(isAsked || brings)) return nothing;
  const prompts = promptsOf(config);
  const after = [
    documentLayer(document, prompts),
    referencesLayer(references, prompts),
    attachmentsLayer(carried.attachments, prompts),
  ];
  const collecting = (): Promise<GatheredContext["before"]> =>
    collected({ ...state, circuit_file_path: circuit }, context, config);
  const [before, found] = await Promise.all([
    hasPaths ? once(state, config, collecting) : [],
    web_search === "general" ? searchAhead(state, { tokens: webTokens(context, config), context }, config) : null,
    web_search === "provider" ? checkVendorSearch(state, context, config) : null,
  ]);
  // What the web has comes after the summary, and before what the user has chosen.
  const all = [found?.layer ?? null, ...after].filter((one) => one !== null);
  return { before, after: all, found: found?.results ?? [] };
}

/** A client may give a reference with the run and with the message. */
function withoutRepeats(references: readonly UserReference[]): UserReference[] {
  return references.filter(
    ({ source, content }, at) =>
      !references.slice(0, at).some((other) => other.source === source && other.content === content),
  );
}

/** The circuit that the editor shows, as tools name it. */
function shownCircuit(document: RunContext["document"], workspace: string): string | null {
  const path = document?.path;
  if (path === undefined || !circuitEndings.test(path)) return null;
  const folder = [workspace, document?.workspace_path].find((one) => one !== undefined && path.startsWith(`${one}/`));
  return folder === undefined ? path : path.slice(folder.length + 1);
}

/** Tokens that what was found on the web may take of the model's window. */
function webTokens(context: RunContext, config: LangGraphRunnableConfig): number {
  return Math.floor(readableTokens(context, config) * (context.context_shares ?? usualShares).web_search);
}

function readableTokens(context: RunContext, config: LangGraphRunnableConfig): number {
  const model = context.model ?? rolesOf(config).main;
  return inputTokens(modelLimits(model, servicesOf(config).contextLimit, profilesOf(config)));
}

async function collected(
  state: GraphState,
  context: RunContext,
  config: LangGraphRunnableConfig,
): Promise<GatheredContext["before"]> {
  const { workspace, tasks, collectors: added = [], changedFiles } = servicesOf(config);
  const now = Date.now();
  const where: CollectionContext = {
    workspace,
    session: sessionIdOf(config),
    circuit_file: state.circuit_file_path,
    sim_result: state.sim_result_path,
    design_goals: state.design_goals_path,
    error: state.error_context,
    metrics: state.last_metrics,
    now,
    changed: changedFiles?.recent(now) ?? [],
    request: textOf(state.messages.findLast(isHumanMessage)?.content ?? ""),
    search: searchWorkspace({ workspace, tasks, sessionId: sessionIdOf(config) }),
  };
  const ofRun = collectorsWith(runToolkits(context, config), collectors);
  const readable = readableTokens(context, config);
  return await collectContext([...ofRun, ...added], where, {
    signal: config.signal,
    budget: collectedTokens(readable, context.context_shares ?? usualShares, state.error_context !== null),
    onProblem: (source, reason) => emit(config, { type: "context_warning", source, reason }),
  });
}
