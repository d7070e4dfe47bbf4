import { builtInPrompts, type Prompts } from "../prompts.ts";
import { defineTemplate } from "../template.ts";

const reasons = {
  iteration_limit: "the limit of rounds for this turn is reached",
  timeout: "the time for this turn is used up",
  token_limit: "the token budget for this turn is used up",
  cost_limit: "the cost budget for this turn is used up",
  owner_limit: "the budget of the user is used up",
  guardrail: "the work goes round in circles and gets no further",
  error: "the turn cannot go on",
  cancelled: "the turn was stopped",
  answered: "the work is done",
  completed: "the work is done",
};

/** What stands in the last model call of a turn that has used up its limits. */
export const closingNoteTemplate = defineTemplate({
  name: "closing_note",
  title: { en: "Last words of a turn", zh: "回合收尾" },
  description: "Makes the model answer from what is known when no further tool call is possible.",
  required: ["reason"],
  content:
    "No further tool call is possible: {reason}. Answer now from the results above. Say what was done, what was found, and what is left undone.",
});

/** The note of the last model call, which has no tools: answer from what is known. */
export function closingNote({ reason }: { reason: keyof typeof reasons }, prompts: Prompts = builtInPrompts): string {
  return prompts.text(closingNoteTemplate, { reason: reasons[reason] });
}
