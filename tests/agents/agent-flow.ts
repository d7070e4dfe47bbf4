import { join } from "node:path";
import { createAgentFolders } from "../../src/agents/agent-folders.ts";
import { createLogger } from "@millrace/engine/logger";
import { tools } from "../../src/tools/index.ts";
import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../support/workflow.ts";

/** The files of agents, as they lie in a workspace. */
export function agentFiles(
  agents: Record<string, { tools?: string; model?: string; prompt?: string; rules?: boolean }>,
) {
  return Object.fromEntries(
    Object.entries(agents).map(([name, { tools: toolText, model, prompt = `You are ${name}.`, rules = false }]) => [
      `.autocoderagents/${name}.md`,
      [
        "---",
        `name: ${name}`,
        `description: Does the work of ${name}`,
        ...(toolText === undefined ? [] : [`tools: ${toolText}`]),
        ...(model === undefined ? [] : [`model: ${model}`]),
        ...(rules ? ["include_rules: true"] : []),
        "---",
        prompt,
      ].join("\n"),
    ]),
  );
}

/** Who asks the model: the name of the agent whose prompt leads, or `caller`. */
export function askedBy(request: ModelRequest): string {
  const system = textAt(request, 0);
  return /You are (\w+)\.\n/u.exec(system)?.[1] ?? "caller";
}

/** The text of the message at a place of a request. */
export function textAt({ messages }: ModelRequest, index: number): string {
  const message = messages[index];
  return message === undefined ? "" : wireText(message);
}

/** The number of model calls that an agent made before this one: 0 at its first call. */
export function roundOf(request: ModelRequest): number {
  return request.messages.filter(({ role }) => role === "assistant").length;
}

/** A model that answers each asker by its own script, however the askers take turns. */
export function scriptsOf(scripts: Record<string, ModelStep[]>): (request: ModelRequest) => ModelStep {
  return (request) => {
    const who = askedBy(request);
    const step = scripts[who]?.[roundOf(request)];
    if (step === undefined) throw new Error(`There is no step for call ${roundOf(request)} of ${who}`);
    return step;
  };
}

/** The workflow with the agents of its workspace; the user has none of their own. */
export async function startWithAgents(options: TestWorkflowOptions): Promise<TestWorkflow> {
  const flow = await startWorkflow(options);
  flow.services.agents = createAgentFolders({
    workspace: flow.workspace,
    home: join(flow.workspace, "no-home"),
    toolNames: Object.keys(tools),
    logger: createLogger("silent"),
  });
  return flow;
}

/** The call that hands work over. */
export function hands(
  mode: "parallel" | "serial" | "background",
  work: Record<string, string>,
  more: object = {},
): ModelStep {
  const subagents = Object.entries(work).map(([name, task]) => ({ name, task }));
  return { toolCalls: [{ name: "run_named_subagents", arguments: { mode, subagents, ...more }, id: "hand" }] };
}
