import { isHumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { collectedTokens, inputTokens, defaultShares } from "../../context/budget.ts";
import { collectContext } from "../../context/collect.ts";
import type { CollectionContext, Collector } from "../../context/collector.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { attachmentsLayer, documentLayer, referencesLayer } from "../../context/layers.ts";
import { emit } from "../../loop/request.ts";
import { profilesOf, promptsOf, rolesOf, servicesOf, sessionIdOf } from "../../loop/services.ts";
import { modelLimits } from "@millrace/models/registry/model-limits";
import type { GraphState, RunContext } from "../../state.ts";
import type { UserReference } from "../../user-context.ts";
import { attachedTo } from "./message-attachments.ts";
import { runContext } from "./node-request.ts";
import { cachedPerTurn } from "./once-a-turn.ts";
import { runToolkits } from "./run-toolkits.ts";
import { checkVendorSearch, findBeforeTurn } from "./before-turn.ts";
import type { GatheredContext } from "../system-text/system-layers.ts";

const once = cachedPerTurn<GatheredContext["before"]>();

const nothing: GatheredContext = { before: [], after: [], found: [] };

/**
 * What the model reads besides the conversation: results of collectors and toolkits, the editor's document, references
 * and attachments.
 */
export async function gatherContext(state: GraphState, config: LangGraphRunnableConfig): Promise<GatheredContext> {
  const context = runContext(config);
  const { document, agent } = context;
  if (agent !== undefined) return nothing;
  const carried = attachedTo(state.messages);
  const references = withoutRepeats([...(context.references ?? []), ...carried.references]);
  const prompts = promptsOf(config);
  const after = [
    documentLayer(document, prompts),
    referencesLayer(references, prompts),
    attachmentsLayer(carried.attachments, prompts),
  ];
  const where = collectionContext(state, context, config);
  const { collectors: added = [] } = servicesOf(config);
  const collectors = [...runToolkits(context, config).flatMap((toolkit) => toolkit.collectors), ...added];
  const applying = collectors.filter((collector) => collector.appliesTo?.(where) ?? true);
  const shares = context.context_shares ?? defaultShares;
  const tokensFor = (share: keyof typeof shares): number => Math.floor(readableTokens(context, config) * shares[share]);
  const collecting = (): Promise<GatheredContext["before"]> => collected(applying, where, config);
  const [before, found] = await Promise.all([
    applying.length > 0 ? once(state, config, collecting) : [],
    findBeforeTurn(state, { request: where.request, context, tokensFor }, config),
    checkVendorSearch(state, context, config),
  ]);
  // Findings come after the summary and before what the user chose.
  const all = [...found.map(({ layer }) => layer), ...after].filter((one) => one !== null);
  return { before, after: all, found: found.flatMap(({ sources }) => sources) };
}

/** A client may send the same reference with the run and with the message. */
function withoutRepeats(references: readonly UserReference[]): UserReference[] {
  return references.filter(
    ({ source, content }, at) =>
      !references.slice(0, at).some((other) => other.source === source && other.content === content),
  );
}

function readableTokens(context: RunContext, config: LangGraphRunnableConfig): number {
  const model = context.model ?? rolesOf(config).main;
  return inputTokens(modelLimits(model, servicesOf(config).contextLimit, profilesOf(config)));
}

function collectionContext(state: GraphState, context: RunContext, config: LangGraphRunnableConfig): CollectionContext {
  const { workspace, changedFiles } = servicesOf(config);
  const now = Date.now();
  return {
    workspace,
    session: sessionIdOf(config),
    state,
    context,
    error: state.error_context,
    now,
    changed: changedFiles?.recent(now) ?? [],
    request: textOf(state.messages.findLast(isHumanMessage)?.content ?? ""),
  };
}

async function collected(
  collectors: readonly Collector[],
  where: CollectionContext,
  config: LangGraphRunnableConfig,
): Promise<GatheredContext["before"]> {
  const { context, error } = where;
  const readable = readableTokens(context, config);
  return await collectContext(collectors, where, {
    signal: config.signal,
    budget: collectedTokens(readable, context.context_shares ?? defaultShares, error !== null),
    onProblem: (source, reason) => emit(config, { type: "context_warning", source, reason }),
  });
}
