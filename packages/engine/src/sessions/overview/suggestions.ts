import type { BaseMessage } from "@langchain/core/messages";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { z } from "zod";
import { isHumanMessage, textOf } from "../../message-kinds.ts";
import { AppError } from "../../errors/errors.ts";
import type { JsonObject, Session } from "../../storage/records.ts";
import { readMessages } from "../messages/conversation.ts";
import type { OwnerScope } from "../scope/owner-scope.ts";
import { lastRunOf } from "./last-run.ts";
import { wordsOf } from "../messages/message-fields.ts";

/** A proposal's purpose, so that clients can style it: best choice, alternative, fix, confirmation, end. */
const SuggestionKind = z.enum(["primary", "secondary", "fix", "success", "stop"]);

/** A choice for the user; `text` is sent when it is chosen. */
export const SuggestionOption = z.object({ id: z.string(), label: z.string(), text: z.string(), kind: SuggestionKind });

/**
 * A message with proposals: the situation, and the user's choices. It stays in the history; `selected` after a choice,
 * `expired` after another message.
 */
export const Suggestions = z.object({
  message_id: z.string(),
  status_summary: z.string(),
  options: z.array(SuggestionOption),
  state: z.enum(["active", "selected", "expired"]),
  selected_id: z.string().nullable(),
});
export type Suggestions = z.infer<typeof Suggestions>;

const Option = z.union([
  z.string().min(1),
  z.looseObject({
    id: z.string().min(1).optional(),
    label: z.string().min(1),
    value: z.string().min(1).optional(),
    kind: SuggestionKind.catch("secondary"),
  }),
]);
const Proposals = z.looseObject({
  suggestions: z.array(Option).min(1),
  status_summary: z.string().optional().catch(undefined),
});
const Chosen = z.looseObject({ suggestion_id: z.string() });

/** The proposals in the messages, oldest first. Their status follows from the next messages, so nothing is stored. */
export function readSuggestions(messages: readonly BaseMessage[]): Suggestions[] {
  return messages.flatMap((message, index) => {
    // Fast path for most messages: a list may have thousands.
    if (message.additional_kwargs["suggestions"] === undefined) return [];
    const proposals = Proposals.safeParse(message.additional_kwargs).data;
    const { id } = message;
    if (proposals === undefined || id === undefined || isHumanMessage(message)) return [];
    const options = proposals.suggestions.map((option, place) => optionOf(option, `${id}.${place + 1}`));
    const next = messages.slice(index + 1).find((later) => isHumanMessage(later));
    const selected = next === undefined ? undefined : chosen(options, next);
    const state = next === undefined ? "active" : selected === undefined ? "expired" : "selected";
    return [
      {
        message_id: id,
        status_summary: proposals.status_summary ?? wordsOf(message),
        options,
        state,
        selected_id: selected?.id ?? null,
      },
    ];
  });
}

/** The message with the active proposals: only the newest qualifies. */
export function activeSuggestions(messages: readonly BaseMessage[]): Suggestions | undefined {
  return readSuggestions(messages).findLast(({ state }) => state === "active");
}

/** Tells a run which proposal was chosen. */
export interface Choice {
  assistant_id: string;
  context: JsonObject;
  input?: { messages: JsonObject[] };
  command?: { resume: unknown };
}

/**
 * The run that sends a proposal as the user's message, or answers a waiting question. Throws `not_found` for an unknown
 * id, `conflict` if it was chosen or superseded.
 */
export async function choiceRequest(
  { storage, runs }: Pick<OwnerScope, "storage" | "runs">,
  session: Session,
  suggestionId: string,
): Promise<Choice> {
  const text = chosenText(await readMessages(storage, session.session_id), suggestionId);
  const { assistant, run } = await lastRunOf(runs, session);
  const { partial: _partial, compress: _compress, ...context } = run?.kwargs.context ?? {};
  const questions = Object.values(session.interrupts).flat();
  const [only] = questions;
  if (only !== undefined && questions.length === 1) {
    return { assistant_id: assistant, context, command: { resume: { [only.id]: text } } };
  }
  const additional_kwargs = { timestamp: new Date().toISOString(), suggestion_id: suggestionId };
  const message = { type: "human", id: newId(), content: text, additional_kwargs };
  return { assistant_id: assistant, context, input: { messages: [message] } };
}

function chosenText(messages: readonly BaseMessage[], suggestionId: string): string {
  const all = readSuggestions(messages);
  const found = all.findLast(({ options }) => options.some(({ id }) => id === suggestionId));
  const option = found?.options.find(({ id }) => id === suggestionId);
  if (found === undefined || option === undefined) {
    throw new AppError("not_found", `No suggestion ${suggestionId} was made in this thread.`);
  }
  if (found.message_id === activeSuggestions(messages)?.message_id) return option.text;
  throw new AppError("conflict", "This suggestion is not open any more: the conversation has gone on.", {
    message_zh: "对话已有进展，这个建议不再有效。",
  });
}

function optionOf(option: z.infer<typeof Option>, id: string): z.infer<typeof SuggestionOption> {
  if (typeof option === "string") return { id, label: option, text: option, kind: "secondary" };
  return { id: option.id ?? id, label: option.label, text: option.value ?? option.label, kind: option.kind };
}

function chosen(
  options: readonly z.infer<typeof SuggestionOption>[],
  next: BaseMessage,
): z.infer<typeof SuggestionOption> | undefined {
  const named = Chosen.safeParse(next.additional_kwargs).data?.suggestion_id;
  const sentText = textOf(next.content).trim();
  return options.find(({ id, text }) => (named === undefined ? text.trim() === sentText : id === named));
}
