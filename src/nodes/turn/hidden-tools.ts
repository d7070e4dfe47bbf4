import { isHumanMessage, isToolMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { LRUCache } from "lru-cache";
import { servicesOf, sessionIdOf } from "../../loop/services.ts";
import type { GraphState, RunContext } from "../../state.ts";
import type { Toolkit } from "../../toolkits/toolkit.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { namesIn } from "../../tools/workspace/walk.ts";
import { isPlanning } from "../plan-mode.ts";
import { profileOf, runToolkits } from "./run-toolkits.ts";
import { lastUserText } from "./request-words.ts";

/** Choices per turn: they stay the same when a node restarts after an answer. */
const chosen = new LRUCache<string, ReadonlySet<string>>({ max: 1000 });

const nothing: ReadonlySet<string> = new Set();

/**
 * Tools the model may call but does not see, so that each job has one tool: twins of another tool, tools of other
 * profiles, and tools of toolkits this conversation does not need. A run that names its tools sees all of them. Decided
 * once per turn.
 */
export function hiddenTools(
  tools: readonly Tool[],
  state: GraphState,
  context: RunContext,
  config: LangGraphRunnableConfig,
): ReadonlySet<string> {
  if (context.tools !== undefined || tools.length === 0) return nothing;
  const request = state.messages.findLast(isHumanMessage)?.id;
  const key = `${sessionIdOf(config)}/${request}/${tools.map(({ name }) => name).join()}`;
  const known = request === undefined ? undefined : chosen.get(key);
  if (known !== undefined) return known;
  const found = findHidden(tools, state, context, config);
  if (request !== undefined) chosen.set(key, found);
  return found;
}

function findHidden(
  tools: readonly Tool[],
  state: GraphState,
  context: RunContext,
  config: LangGraphRunnableConfig,
): ReadonlySet<string> {
  const names = new Set(tools.map(({ name }) => name));
  const profile = profileOf(context, config);
  const idle = idleToolkits(state, context, config).flatMap((toolkit) => toolkit.tools);
  const isHidden = (tool: Tool): boolean => {
    const { twinOf, profiles } = tool.offered ?? {};
    if (tool.name === context.selected_tool || (profiles?.length === 0 && isPlanning(state, context))) return false;
    return (
      (twinOf !== undefined && names.has(twinOf)) ||
      (profiles !== undefined && !profiles.includes(profile)) ||
      idle.some(({ name }) => name === tool.name)
    );
  };
  return new Set(tools.filter(isHidden).map(({ name }) => name));
}

/** Toolkits whose kind of work appears in neither run, conversation nor workspace. */
function idleToolkits(state: GraphState, context: RunContext, config: LangGraphRunnableConfig): readonly Toolkit[] {
  if (context.toolkits !== undefined || context.action_type !== undefined) return [];
  const profile = profileOf(context, config);
  const used = new Set(state.messages.flatMap((message) => (isToolMessage(message) ? [message.name] : [])));
  const about = { request: lastUserText(state.messages), entries: namesIn(servicesOf(config).workspace), state };
  return runToolkits(context, config).filter(
    ({ isWanted, identity, tools }) =>
      isWanted !== undefined &&
      identity?.profile !== profile &&
      !tools.some(({ name }) => used.has(name)) &&
      !isWanted(about),
  );
}
