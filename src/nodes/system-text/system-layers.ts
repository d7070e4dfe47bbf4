import { agentSystemText, systemParts, type ContextLayer, type SystemPart } from "../../prompts/injector.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import type { GraphState, RunContext } from "../../state.ts";
import { workflowAdditions, workflowToolkits } from "../../toolkits/composition.ts";
import type { SearchResult } from "@millrace/models/messages/search-result";
import { identityValues } from "./identity-values.ts";

/** Context gathered for a turn: layers before and after the facts and the summary in the system text. */
export interface GatheredContext {
  before: readonly ContextLayer[];
  after: readonly ContextLayer[];
  /** Pages found on the web. */
  found: readonly SearchResult[];
}

/**
 * The parts of the system text. A run in workflow mode may leave out the identity; an agent has its own prompt instead.
 */
export function systemOf(
  state: GraphState,
  context: RunContext,
  request: {
    kept: readonly ContextLayer[];
    session: string;
    task: string;
    workspace: string;
    prompts: Prompts;
    profile: string;
    gathered: GatheredContext | undefined;
  },
): SystemPart[] {
  const { kept, session, task, workspace, prompts, profile, gathered } = request;
  if (context.agent !== undefined) {
    return [{ name: "agent", section: "system_prompt", text: agentSystemText(context.agent.prompt, prompts) }];
  }
  const hasIdentity = (context.work_mode ?? state.work_mode) !== "workflow" || context.identity_in_workflow !== false;
  const identity =
    context.system === undefined
      ? { profile, values: identityValues(state, workspace, context) }
      : { own: context.system };
  const parts = {
    identity: hasIdentity ? identity : null,
    kept,
    ...(session === "" ? {} : { session }),
    ...(task === "" ? {} : { task }),
    context: { summary: state.conversation_summary, facts: factsOf(state, gathered), ...gathered },
  };
  return systemParts(parts, prompts);
}

/** Facts about the session's work. */
function factsOf(state: GraphState, gathered: GatheredContext | undefined): Record<string, string | null> {
  const includeError = workflowToolkits().flatMap(({ collectors }) => collectors.filter((one) => one.includesError));
  const isShown = gathered?.before.some((layer) => includeError.some(({ name }) => name === layer.name)) === true;
  return {
    ...Object.assign({}, ...workflowAdditions().map(({ facts }) => facts?.(state))),
    "Last error": isShown ? null : state.error_context,
  };
}
