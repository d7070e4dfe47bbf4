import type { RunContext } from "../../state.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import type { Web } from "../../web/open-web.ts";

/** Whether the server has what a tool needs of the web. */
export function hasWeb({ offered }: Pick<Tool, "offered">, web: Web | undefined): boolean {
  const needs = offered?.needs;
  if (needs === undefined || needs === "open_document") return true;
  return (needs === "web_search" ? web?.search : web?.pages) !== undefined;
}

/** Whether a run does without a tool: the general search, where the model's vendor searches or nobody is to. */
export function isReplaced({ offered }: Pick<Tool, "offered">, { web_search }: RunContext): boolean {
  return offered?.needs === "web_search" && (web_search === "provider" || web_search === "off");
}
