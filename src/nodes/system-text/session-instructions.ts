import { isSystemMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { referenceSplit } from "../../context/budget.ts";
import { overGrowingList } from "../../context/compression/growing-list.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { countText } from "../../context/tokens/tokens.ts";
import { profilesOf, promptsOf, servicesOf } from "../../loop/services.ts";
import { modelLimits } from "@millrace/models/registry/model-limits";
import { sessionInstructions } from "../../prompts/templates/session-instructions.ts";

/** A system text, its tokens, and the first and last group of system messages that contain it. */
interface SystemText {
  text: string;
  tokens: number;
  first: number;
  last: number;
}

/**
 * The distinct system texts of a conversation in order of first appearance. Consecutive system messages form a group.
 */
interface SystemTexts {
  texts: readonly SystemText[];
  groups: number;
  isInGroup: boolean;
}

/** Some clients repeat their system text with every message. */
const systemTexts = overGrowingList<SystemTexts>({ texts: [], groups: 0, isInGroup: false }, (known, message) => {
  if (!isSystemMessage(message)) return known.isInGroup ? { ...known, isInGroup: false } : known;
  const text = textOf(message.content).trim();
  if (text === "") return known;
  const groups = known.isInGroup ? known.groups : known.groups + 1;
  const at = known.texts.findIndex((one) => one.text === text);
  const before = known.texts[at];
  const texts =
    before === undefined
      ? [...known.texts, { text, tokens: countText(text), first: groups, last: groups }]
      : known.texts.with(at, { ...before, last: groups });
  return { texts, groups, isInGroup: true };
});

/**
 * A conversation's system texts, for the one system message of a model request; so they survive compression. Empty if
 * there are none. A client may send a new one with every request: the first and the newest group always stay, then the
 * newest others that fit into the system text's share of the window, with a note of how many are left out.
 */
export function instructionsIn(
  messages: readonly BaseMessage[],
  model: string,
  config: LangGraphRunnableConfig,
): string {
  const { texts, groups } = systemTexts(messages);
  if (texts.length === 0) return "";
  const { context } = modelLimits(model, servicesOf(config).contextLimit, profilesOf(config));
  const shown = within(texts, groups, Math.floor((context * referenceSplit.system) / 100));
  const left = texts.length - shown.length;
  return promptsOf(config).text(sessionInstructions, {
    instructions: shown.map(({ text }) => text).join("\n\n"),
    left: left === 0 ? undefined : left,
  });
}

function within(texts: readonly SystemText[], groups: number, maxTokens: number): readonly SystemText[] {
  let room = maxTokens;
  for (const { tokens } of texts) room -= tokens;
  if (room >= 0) return texts;
  const shown = new Set(texts.filter(({ first, last }) => first === 1 || last === groups));
  room = maxTokens;
  for (const { tokens } of shown) room -= tokens;
  const newestFirst = texts.filter((text) => !shown.has(text)).toSorted((one, other) => other.last - one.last);
  for (const text of newestFirst) {
    room -= text.tokens;
    if (room < 0) break;
    shown.add(text);
  }
  return texts.filter((text) => shown.has(text));
}
