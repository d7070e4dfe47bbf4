import type { ConversationSummary } from "../state.ts";
import { antiTampering } from "./anti-tampering.ts";
import { identity } from "./identity.ts";

const separator = "\n\n---\n\n";

/** What the context layer may tell: facts only (PROMPT-04). Empty parts are left out. */
export interface ContextFacts {
  summary: ConversationSummary | null;
  facts: Record<string, string | null>;
}

/**
 * The one place that makes a system text (PROMPT-02): L0 identity and its protection, L1 the task when there is one, L2
 * facts. Each layer carries its mark. Stable parts come first, so that a provider can cache them (PROMPT-23).
 */
export function systemText({ task, context }: { task?: string; context: ContextFacts }): string {
  const layers = [`<!-- layer: identity -->\n${identity()}\n\n${antiTampering()}`];
  if (task !== undefined) layers.push(task);
  const lines = Object.entries(context.facts)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name}: ${value}`);
  if (context.summary !== null) lines.push(`Summary of the earlier conversation: ${summaryText(context.summary)}`);
  if (lines.length > 0) layers.push(`<!-- layer: context -->\n${lines.join("\n")}`);
  return layers.join(separator);
}

function summaryText(summary: ConversationSummary): string {
  const { through_message_id: _, ...parts } = summary;
  return JSON.stringify(parts);
}
