import type { Tool } from "../tools/tool.ts";
import type { LoopRequest } from "./request.ts";

/** The tools that an iteration may call: where the user has chosen one, first it alone and then only the others (TOOL-08). */
export function callableTools(
  { tools, forcedTool }: Pick<LoopRequest, "tools" | "forcedTool">,
  iteration: number,
): Tool[] {
  if (forcedTool === undefined) return tools;
  return tools.filter(({ name }) => (name === forcedTool) === (iteration === 1));
}
