const reasons = {
  iteration_limit: "the limit of rounds for this turn is reached",
  timeout: "the time for this turn is used up",
  token_limit: "the token budget for this turn is used up",
  error: "the turn cannot go on",
  answered: "the work is done",
};

/** The note of the last model call, which has no tools: answer from what is known (LOOP-02). */
export function closingNote({ reason }: { reason: keyof typeof reasons }): string {
  return `<!-- task: final_answer -->\nNo further tool call is possible: ${reasons[reason]}. Answer now from the results above. Say what was done, what was found, and what is left undone.`;
}
