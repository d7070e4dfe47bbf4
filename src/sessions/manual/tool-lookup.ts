import { AppError } from "@millrace/engine/errors/errors";
import { extraApprovals } from "../../loop/tool-call/rulings.ts";
import type { SharedRunServices } from "../../loop/services.ts";
import { toolNotFound } from "../../tools/runtime/registry.ts";
import { plainContext, type Tool, type ToolContext } from "../../tools/runtime/tool.ts";
import { toolsOfOwner } from "../../toolkits/tools-of-owner.ts";

/** The server's own tools and those that the sources have now, as far as the owner may use them; `null`: all. */
export async function everyTool(
  { toolkits, toolSources = [], toolkitServices, ownerTools }: SharedRunServices,
  owner: string | null,
  signal: AbortSignal,
): Promise<Tool[]> {
  const added = await Promise.all(toolSources.map((source) => source.tools(signal)));
  const own = toolkits.flatMap(({ tools }) => tools);
  const isAvailable = ({ offered }: Tool): boolean => offered?.isAvailable?.(toolkitServices) ?? true;
  // A run gets a tool that lacks something only by name.
  const all = [
    ...own.map((tool) => (isAvailable(tool) ? tool : { ...tool, offered: { ...tool.offered, isDefault: false } })),
    ...added.flat(),
  ];
  const allowed = toolsOfOwner(ownerTools, owner, toolkits);
  return allowed === undefined ? all : all.filter(({ name }) => allowed.has(name));
}

/** A tool that the owner may use. Throws `tool_not_found`. */
export async function requireTool(
  services: SharedRunServices,
  name: string,
  owner: string | null,
  signal: AbortSignal,
): Promise<Tool> {
  const all = await everyTool(services, owner, signal);
  const tool = all.find((candidate) => candidate.name === name);
  if (tool !== undefined) return tool;
  const { message } = toolNotFound(
    name,
    all.map((candidate) => candidate.name),
  );
  throw new AppError("tool_not_found", message, { suggestion: "GET /tools lists them." });
}

/** The context of a call outside of any run. */
export function contextOf(
  services: SharedRunServices,
  sessionId: string,
  { callId, owner }: { callId: string; owner: string | undefined },
  signal: AbortSignal,
): ToolContext {
  const { workspace } = services;
  const toolkitServices = services.toolkitServices.forSession({ sessionId, owner });
  const given = { extraApprovals: extraApprovals(services) };
  return plainContext({ ...given, workspace, toolkitServices, sessionId, callId, signal });
}
