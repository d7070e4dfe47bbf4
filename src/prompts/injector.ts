import { layerSeparator } from "@millrace/models/messages/system-message";
import type { ConversationSummary } from "../state.ts";
import { antiTampering } from "./templates/anti-tampering.ts";
import { builtInPrompts, type Prompts } from "./prompts.ts";
import type { Value } from "./template.ts";

/** What the context layer may tell: facts only. Empty parts are left out. */
export interface ContextFacts {
  summary: ConversationSummary | null;
  facts: Record<string, string | null>;
  /** What was gathered for this turn: what stands before the facts and the summary, and what after them. */
  before?: readonly ContextLayer[];
  after?: readonly ContextLayer[];
}

/** One section of what was gathered for the model: its name, and its text with its heading. */
export interface ContextLayer {
  name: string;
  text: string;
  /** It goes where the window has no room for it. What stands before the facts always does. */
  isOptional?: true;
}

/** What a system text is made of. */
export interface SystemParts {
  /** L0: whose identity, and the values that it may use, or the client's own text. `null`: none, as a workflow may choose. */
  identity?: { profile: string; values: Readonly<Record<string, Value>> } | { own: string } | null;
  /** Texts that were written for the session at its first turn; the same through it. */
  kept?: readonly ContextLayer[];
  /** What the conversation itself was given as system texts, filled; the same through a session. */
  session?: string;
  /** L1: what this call is about, filled. */
  task?: string;
  /** L2. */
  context: ContextFacts;
}

/** What a part of a system text is to whoever looks at it. */
export type SystemSection = "system_prompt" | "implicit_context";

/** One piece of a system text; its pieces in their order are the whole text. */
export interface SystemPart {
  name: string;
  section: SystemSection;
  text: string;
  /** Data that was collected for the turn: it goes where the window has no room for it. */
  isOptional?: true;
}

/**
 * The pieces of a system message: L0 identity and its protection, L1 the task when there is one, L2 facts, each with
 * its name, which the log and `GET /threads/:id/context` show and the model is not sent. What stays the same through a
 * session comes first, so that a provider can cache it.
 */
export function systemParts(parts: SystemParts, prompts: Prompts = builtInPrompts): SystemPart[] {
  const { session, task, context } = parts;
  const identity = parts.identity === undefined ? { profile: "general" as const, values: {} } : parts.identity;
  const who = identity === null ? "" : `${identityText(identity, prompts)}\n\n`;
  const protection = `${who}${prompts.text(antiTampering, {})}`;
  const pieces: SystemPart[] = [{ name: "identity", section: "system_prompt", text: protection }];
  const add = (name: string, section: SystemSection, text: string): void => {
    pieces.push({ name, section, text: `${layerSeparator}${text}` });
  };
  const addLayers = (layers: readonly ContextLayer[] = [], optional: Pick<SystemPart, "isOptional"> = {}): void => {
    for (const { name, text, isOptional } of layers) {
      const own = isOptional === true ? { isOptional } : {};
      pieces.push({ name, section: "implicit_context", text: `${layerSeparator}${text}`, ...optional, ...own });
    }
  };
  for (const { name, text } of parts.kept ?? []) add(name, "system_prompt", text);
  if (session !== undefined) add("session", "system_prompt", session);
  if (task !== undefined) add("task", "system_prompt", task);
  addLayers(context.before, { isOptional: true });
  const lines = Object.entries(context.facts)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name}: ${value}`);
  if (context.summary !== null) lines.push(`Summary of the earlier conversation: ${summaryText(context.summary)}`);
  if (lines.length > 0) add("context", "system_prompt", lines.join("\n"));
  // What the user shows and refers to belongs to the request.
  addLayers(context.after);
  prompts.onSystemText?.(pieces);
  return pieces;
}

function identityText(identity: NonNullable<SystemParts["identity"]>, prompts: Prompts): string {
  return "own" in identity ? identity.own : prompts.identity(identity.profile, identity.values);
}

/** The text that the pieces make. */
export function textOfParts(parts: readonly SystemPart[]): string {
  return parts.map(({ text }) => text).join("");
}

/** The pieces that a model cannot do without. */
export function coreParts(parts: readonly SystemPart[]): SystemPart[] {
  return parts.filter(({ isOptional }) => isOptional !== true);
}

/** The text of a system message for a sub-agent: its own prompt stands for the identity, protected like it. */
export function agentSystemText(prompt: string, prompts: Prompts = builtInPrompts): string {
  return `${prompt}\n\n${prompts.text(antiTampering, {})}`;
}

function summaryText(summary: ConversationSummary): string {
  const { through_message_id: _, shown, ...parts } = summary;
  const lines = [JSON.stringify(parts)];
  if (shown !== undefined && shown.earlier.length > 0) lines.push("What was said just before:", ...shown.earlier);
  if (shown !== undefined && shown.operations.length > 0) lines.push(`Files changed: ${shown.operations.join("; ")}`);
  return lines.join("\n");
}
