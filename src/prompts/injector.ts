import { layerSeparator } from "@millrace/models/messages/system-message";
import type { ConversationSummary } from "../state.ts";
import { antiTampering } from "./templates/anti-tampering.ts";
import { builtInPrompts, type Prompts } from "./prompts.ts";
import type { Value } from "./template.ts";

/** Facts for the context layer. Empty parts are left out. */
export interface ContextFacts {
  summary: ConversationSummary | null;
  facts: Record<string, string | null>;
  /** Context gathered for this turn: before and after the facts and the summary. */
  before?: readonly ContextLayer[];
  after?: readonly ContextLayer[];
}

/** A section of gathered context: its name, and its text with a heading. */
export interface ContextLayer {
  name: string;
  text: string;
  /** Dropped if the window has no room. Sections before the facts always are optional. */
  isOptional?: true;
}

/** The parts of a system text. */
export interface SystemParts {
  /** L0: the identity's profile and values, or the client's own text. `null`: none, as a workflow may choose. */
  identity?: { profile: string; values: Readonly<Record<string, Value>> } | { own: string } | null;
  /** Texts written for the session in its first turn. */
  kept?: readonly ContextLayer[];
  /** The conversation's own system texts, filled. */
  session?: string;
  /** L1: the filled task text. */
  task?: string;
  /** L2. */
  context: ContextFacts;
}

/** The section of a system-text part in the context snapshot. */
export type SystemSection = "system_prompt" | "implicit_context";

/** A piece of a system text; the pieces in order form the whole. */
export interface SystemPart {
  name: string;
  section: SystemSection;
  text: string;
  /** Collected data, dropped if the window has no room. */
  isOptional?: true;
  /** What an identity was filled with, for a preview of another text. */
  values?: Readonly<Record<string, Value>>;
}

/**
 * The pieces of a system message: L0 identity with protection, L1 task if there is one, L2 facts. Their names are for
 * the log and `GET /threads/:id/context` only. Parts that stay the same through a session come first, for the prefix
 * cache.
 */
export function systemParts(parts: SystemParts, prompts: Prompts = builtInPrompts): SystemPart[] {
  const { session, task, context } = parts;
  const identity = parts.identity === undefined ? { profile: "general" as const, values: {} } : parts.identity;
  const who = identity === null ? "" : `${identityText(identity, prompts)}\n\n`;
  const protection = `${who}${prompts.text(antiTampering, {})}`;
  const values = identity !== null && "values" in identity ? { values: identity.values } : {};
  const pieces: SystemPart[] = [{ name: "identity", section: "system_prompt", text: protection, ...values }];
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
  // The user's document and references belong to the request.
  addLayers(context.after);
  prompts.onSystemText?.(pieces);
  return pieces;
}

function identityText(identity: NonNullable<SystemParts["identity"]>, prompts: Prompts): string {
  return "own" in identity ? identity.own : prompts.identity(identity.profile, identity.values);
}

/** Joins the pieces. */
export function textOfParts(parts: readonly SystemPart[]): string {
  return parts.map(({ text }) => text).join("");
}

/** The pieces that are not optional. */
export function coreParts(parts: readonly SystemPart[]): SystemPart[] {
  return parts.filter(({ isOptional }) => isOptional !== true);
}

/** The system text of a sub-agent: its own prompt instead of the identity, with the same protection. */
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
