import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Agent } from "../../agents/agent-folders.ts";
import { subAgentsSection } from "../../agents/sub-agents-section.ts";
import { inputTokens, defaultShares } from "../../context/budget.ts";
import { summaryWithin } from "../../context/compression/compress.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { AppError } from "@millrace/engine/errors/errors";
import { confirmingWords } from "@millrace/engine/sessions/questions/questions";
import type { LoopRequest } from "../../loop/request.ts";
import { profilesOf, promptsOf, rolesOf, servicesOf } from "../../loop/services.ts";
import { modelLimits, modelPrice } from "@millrace/models/registry/model-limits";
import { confirmation } from "../../prompts/templates/confirmation.ts";
import { forcedTool } from "../../prompts/templates/forced-tool.ts";
import type { WorkingRole } from "@millrace/models/registry/roles";
import { textOfParts } from "../../prompts/injector.ts";
import { LoopLimits, type RunContext, type GraphState } from "../../state.ts";
import { composedContext } from "../../toolkits/composition.ts";
import type { Toolkit } from "../../toolkits/toolkit.ts";
import { clientTools } from "../../tools/conversation/client-tool.ts";
import { createRegistry } from "../../tools/runtime/registry.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { hiddenTools } from "./hidden-tools.ts";
import { modelForWork } from "./node-model.ts";
import { isPlanning, planningTools } from "../plan-mode.ts";
import { docsToRead } from "./reading.ts";
import { availableToolkits, profileOf, profileParts, runToolkits } from "./run-toolkits.ts";
import { instructionsIn } from "../system-text/session-instructions.ts";
import { sessionTexts } from "../system-text/session-texts.ts";
import { systemOf, type GatheredContext } from "../system-text/system-layers.ts";

/** Parsed contexts by configuration: a node reads its own many times. */
const contexts = new WeakMap<LangGraphRunnableConfig, RunContext>();

/** The run's context: from `context`, or from the same keys in `configurable`, as older clients send them. */
export function runContext(config: LangGraphRunnableConfig): RunContext {
  const known = contexts.get(config) ?? readContext(config);
  contexts.set(config, known);
  return known;
}

function readContext(config: LangGraphRunnableConfig): RunContext {
  const chosen: Record<string, unknown> = {};
  const schema = composedContext();
  for (const key of Object.keys(schema.shape)) {
    const value: unknown = config.context?.[key] ?? config.configurable?.[key];
    if (value !== undefined) chosen[key] = value;
  }
  const parsed = schema.safeParse(chosen);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
  throw new AppError("invalid_parameter", `The run's context is not usable: ${problems.join("; ")}`, {
    suggestion: "GET /assistants/agent/schemas shows what context may hold.",
  });
}

/**
 * The tools a run may use: the selected one, and those it names or the default set, from its toolkits and tool sources,
 * limited to what the session's owner may use. An unknown name throws `tool_not_found`.
 */
export function offeredTools(context: RunContext, config: LangGraphRunnableConfig): Tool[] {
  const { addedTools = [], allowedTools, toolkitServices } = servicesOf(config);
  const all = [...runToolkits(context, config).flatMap(({ tools }) => tools), ...addedTools];
  const known = createRegistry(all.filter(({ name }) => allowedTools?.has(name) ?? true));
  const available = availableToolkits(context, config);
  const isUsable = (tool: Tool): boolean =>
    (tool.offered?.isAvailable?.(toolkitServices) ?? true) &&
    hasDocument(tool, context) &&
    isAvailable(tool, available, config);
  const others = context.tools ?? known.defaults().flatMap((tool) => (isUsable(tool) ? [tool.name] : []));
  const named = known.restrict(context.selected_tool === undefined ? others : [context.selected_tool, ...others]);
  // A background agent has no client that could run its calls.
  const own = context.agent === undefined ? clientTools(context.client_tools ?? []) : [];
  const isOfClient = ({ name }: Tool): boolean => own.some((tool) => tool.name === name);
  const offered = [...named.filter((tool) => tool.offered?.isLeftOut?.(context) !== true && !isOfClient(tool)), ...own];
  if (agentsOf(config).length > 0) return offered;
  // Without agents there is nothing to delegate to; a user who selected the tool learns so from its result.
  return offered.filter((tool) => tool.offered?.mayDelegate !== true || tool.name === context.selected_tool);
}

/** Whether the tool's toolkit is available; tools from other sources always are. */
function isAvailable({ name }: Tool, available: readonly Toolkit[], config: LangGraphRunnableConfig): boolean {
  const has = (toolkit: Toolkit): boolean => toolkit.tools.some((tool) => tool.name === name);
  return available.some(has) || (servicesOf(config).addedTools ?? []).some((tool) => tool.name === name);
}

/** The editor's document can be edited if the run brought its whole text, and not by an agent. */
function hasDocument({ offered }: Tool, { document, agent }: RunContext): boolean {
  return offered?.needs !== "open_document" || (document?.content !== undefined && agent === undefined);
}

function agentsOf(config: LangGraphRunnableConfig): readonly Agent[] {
  return servicesOf(config).agents?.list() ?? [];
}

/**
 * A node's loop request from its name, task text and tools; the rest comes from the state and the run. `tools` defaults
 * to all the run may use; chat mode has none. `role` chooses the model, default `main`.
 */
export function nodeRequest(
  node: string,
  state: GraphState,
  config: LangGraphRunnableConfig,
  options: {
    task?: string;
    tools?: Tool[];
    instruction?: string | undefined;
    history?: BaseMessage[];
    silent?: boolean;
    gathered?: GatheredContext;
    role?: WorkingRole;
  },
): LoopRequest {
  const context = runContext(config);
  const { workspace } = servicesOf(config);
  const history = options.history ?? state.messages;
  const model = modelForWork(options.role ?? "main", history, context, config);
  const prompts = promptsOf(config);
  const usable = usableTools(state, context, options.tools ?? offeredTools(context, config));
  // A client with its own system text and no tools needs no task text.
  const isOwn = context.system !== undefined && usable.length === 0 && options.silent !== true;
  const task = taskText(isOwn ? undefined : options.task, usable, context, config);
  const profile = profileOf(context, config);
  const texts = options.silent === true ? { kept: [], session: "" } : textsOfSession(state, model, config);
  const facts = { ...texts, task, workspace, prompts, profile, gathered: options.gathered };
  const parts = systemOf({ ...state, conversation_summary: summaryFor(model, state, context, config) }, context, facts);
  return {
    node,
    prompts,
    system: textOfParts(parts),
    parts,
    history,
    summary: state.conversation_summary,
    tools: usable,
    hidden: hiddenTools(usable, state, context, config),
    limits: { ...LoopLimits.parse(context.limits ?? {}), ...priceOf(model, context, config) },
    model,
    completion: profileParts(profile, config)?.completion,
    requiresConfirm: state.orchestration.requires_confirm,
    turnState: state.orchestration.state === "decide" ? "decide" : "plan",
    found: options.gathered?.found ?? [],
    providerSearch: context.web_search === "provider",
    ...docsToRead(state, context, options.silent === true),
    silent: options.silent ?? false,
    // An agent's task was written by a model, not by the user.
    userRequest: context.agent?.user_request,
    document: context.agent === undefined ? context.document : undefined,
    fallbackModel: context.fallback_model ?? rolesOf(config).fallback,
    ...roomOf(options.history, profileParts(profile, config)?.cutsHistoryEarly, context),
    onError: context.on_error,
    toolPolicy: context.tool_policy,
    resultMode: context.result_mode,
    temperature: context.temperature,
    thinking: context.thinking,
    // Answers for the program are not limited.
    maxTokens: options.silent === true ? undefined : context.max_tokens,
    toolProtocol: context.tool_protocol,
    instruction: options.instruction,
    forcedTool: usable.find(({ name }) => name === context.selected_tool)?.name,
    isPlanning: isPlanning(state, context),
  };
}

/** System texts of the whole session; silent calls follow their own task alone. */
function textsOfSession(state: GraphState, model: string, config: LangGraphRunnableConfig) {
  return {
    kept: sessionTexts(state, runContext(config), config),
    session: instructionsIn(state.messages, model, config),
  };
}

/** The tools that the conversation's mode allows. */
function usableTools(state: GraphState, context: RunContext, tools: Tool[]): Tool[] {
  if (isPlanning(state, context)) return planningTools(tools);
  return (context.chat_mode ?? state.chat_mode) === "chat" ? [] : tools;
}

/** The summary, cut to its share of the model's input. */
function summaryFor(
  model: string,
  { conversation_summary: summary }: GraphState,
  { context_shares = defaultShares }: RunContext,
  config: LangGraphRunnableConfig,
): GraphState["conversation_summary"] {
  if (summary === null) return null;
  const limits = modelLimits(model, servicesOf(config).contextLimit, profilesOf(config));
  return summaryWithin(summary, Math.floor(inputTokens(limits) * context_shares.summary));
}

/** Messages passed in for a summary are not shortened. */
function roomOf(
  history: BaseMessage[] | undefined,
  cutsEarly = false,
  { context_shares }: RunContext,
): Pick<LoopRequest, "room"> {
  if (history !== undefined) return {};
  return { room: { shares: context_shares, cutsEarly } };
}

/** The run's price applies to its own model; others have the registry's. */
function priceOf(model: string, context: RunContext, config: LangGraphRunnableConfig): Pick<LoopLimits, "price"> {
  const isOwn = model === (context.model ?? rolesOf(config).main);
  const price = (isOwn ? context.limits?.price : undefined) ?? modelPrice(model, profilesOf(config));
  return { price };
}

/** The node's task text and, if there are tools, notes on confirmation, the selected tool and the agents. */
function taskText(
  task: string | undefined,
  usable: readonly Tool[],
  context: RunContext,
  config: LangGraphRunnableConfig,
): string {
  const prompts = promptsOf(config);
  const parts = task === undefined ? [] : [task];
  if (usable.length > 0) parts.push(prompts.text(confirmation, { keywords: confirmingWords.join(", ") }));
  const chosen = usable.find(({ name }) => name === context.selected_tool);
  if (chosen !== undefined) parts.push(prompts.text(forcedTool, { tool: chosen.name }));
  const hasAgents = usable.some((tool) => tool.inTurn?.delegates !== undefined);
  const agents = hasAgents ? subAgentsSection(agentsOf(config), prompts) : "";
  if (agents !== "") parts.push(agents);
  return parts.join("\n\n");
}

/** The last tool and its shortened result, for the orchestration record. */
export function lastToolOf(messages: readonly BaseMessage[]): {
  last_tool: string | null;
  last_result_summary: string | null;
} {
  const result = messages.findLast((message) => message.getType() === "tool");
  return {
    last_tool: result?.name ?? null,
    last_result_summary: result === undefined ? null : textOf(result.content).slice(0, 200),
  };
}
