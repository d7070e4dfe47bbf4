import { agentSystemText, systemParts, type ContextLayer, type SystemPart } from "../../prompts/injector.ts";
import type { Prompts } from "../../prompts/prompts.ts";
import type { GraphState, RunContext } from "../../state.ts";
import { workflowAdditions, workflowToolkits } from "../../toolkits/composition.ts";
import type { SearchResult } from "@millrace/models/messages/search-result";
import { identityValues } from "./identity-values.ts";

/** What was gathered for a turn: what stands before the facts and the summary of the system text, and what after them. */
export interface GatheredContext {
  before: readonly ContextLayer[];
  after: readonly ContextLayer[];
  /** Pages that were found on the web. */
  found: readonly SearchResult[];
}

/**
 * The layers of the system text. In a workflow the run may do without the identity; an agent has its own prompt
 * instead.
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

/** What the session works on. */
function factsOf(state: GraphState, gathered: GatheredContext | undefined): Record<string, string | null> {
  const includeError = workflowToolkits().flatMap(({ collectors }) => collectors.filter((one) => one.includesError));
  const isTold = gathered?.before.some((layer) => includeError.some(({ name }) => name === layer.name)) === true;
  return {
    ...Object.assign({}, ...workflowAdditions().map(({ facts }) => facts?.(state))),
    "Last error": isTold ? null : state.error_context,
  };
}
