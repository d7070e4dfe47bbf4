import { rulesKind } from "../../context/documentation/rules-document.ts";
import type { LoopRequest } from "../../loop/request.ts";
import type { GraphState, RunContext } from "../../state.ts";
import { workflowAdditions } from "../../toolkits/composition.ts";
import { attachedTo } from "./message-attachments.ts";

/**
 * Which of the user's documentation a model gets first: all of it. An agent gets only the rules, if its file says so;
 * silent calls get none.
 */
export function docsToRead(
  state: GraphState,
  { agent, document, references = [] }: Pick<RunContext, "agent" | "document" | "references">,
  isSilent: boolean,
): Pick<LoopRequest, "reading"> {
  const opened = document?.path ?? null;
  const carried = attachedTo(state.messages);
  const named = [...references, ...carried.references].map(({ source }) => source);
  const attached = carried.attachments.map(({ path }) => path);
  const files = [opened, ...named, ...attached, ...workflowAdditions().flatMap((one) => one.files?.(state) ?? [])];
  if (isSilent) return {};
  if (agent === undefined) return { reading: { kinds: "all", files } };
  return agent.include_rules === true ? { reading: { kinds: [rulesKind], files } } : {};
}
