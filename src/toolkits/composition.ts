import { currentToolkits } from "@millrace/engine/config/config";
import { z } from "zod";
import { coreParts } from "../prompts/parts.ts";
import type { PromptParts, Template } from "../prompts/template.ts";
import { RunContext, stateFields } from "../state.ts";
import { enabledToolkits } from "./enabled-toolkits.ts";
import { toolkits } from "./index.ts";
import type { Toolkit, ToolkitWorkflow } from "./toolkit.ts";

let drawn: readonly Toolkit[] | undefined;

/**
 * The toolkits built into the workflow, by the process's configuration. Their state, context and nodes exist for all
 * runs.
 */
export function workflowToolkits(): readonly Toolkit[] {
  drawn ??= enabledToolkits(currentToolkits());
  return drawn;
}

/** The workflow's additions by toolkits, in list order. */
export function workflowAdditions(): ToolkitWorkflow[] {
  return workflowToolkits().map(({ workflow }) => workflow);
}

/** The fields of the state, with those of the toolkits. */
export function composedState(): typeof stateFields {
  return Object.assign({}, stateFields, ...workflowAdditions().map(({ state }) => state)) as typeof stateFields; // and more
}

let context: typeof RunContext | undefined;

/** A run's choices, including the toolkits' keys, profiles and preset actions. */
export function composedContext(): typeof RunContext {
  context ??= composeContext();
  return context;
}

function composeContext(): typeof RunContext {
  const additions = workflowAdditions();
  const actions = additions.flatMap(({ actions: own = {} }) => Object.keys(own));
  const profiles = Object.keys(promptParts(workflowToolkits()).identities);
  const { action_type: _composed, ...core } = RunContext.shape;
  return z.object({
    ...core,
    ...(actions.length > 0 && { action_type: z.enum(actions).optional() }),
    profile: z.enum(profiles).optional(),
    ...Object.assign({}, ...additions.map(({ context: own }) => own)),
    // Code that reads a toolkit's keys parses them by the toolkit's own schema.
  }) as unknown as typeof RunContext;
}

/** The texts of a server with these toolkits; by default all there are, so that users may edit those of any. */
export function promptParts(of: readonly Toolkit[] = toolkits): PromptParts {
  const actions = of.flatMap(({ workflow }) => Object.values(workflow.actions ?? {}).map(({ template }) => template));
  const identities = of.flatMap(({ identity }): [string, Template][] =>
    identity?.template === undefined ? [] : [[identity.profile, identity.template]],
  );
  const own = [...of.flatMap(({ templates }) => templates), ...actions, ...identities.map(([, template]) => template)];
  const templates = [...Object.entries(coreParts.templates), ...own.map((one): [string, Template] => [one.name, one])];
  return {
    templates: Object.fromEntries(templates.toSorted(([left], [right]) => (left < right ? -1 : 1))),
    identities: { ...coreParts.identities, ...Object.fromEntries(identities) },
    identityVariables: of.flatMap(({ workflow }) => Object.keys(workflow.identityVariables ?? {})),
    actionTemplates: actions.map(({ name }) => name),
  };
}
