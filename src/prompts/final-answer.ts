/** L1 after the last step of a plan: one short summary (TASK-09, C-05). */
export function finalAnswerPrompt(): string {
  return [
    "<!-- task: final_answer -->",
    "All steps of the plan have been worked on. Tell the user in two or three sentences what was done, what came of it, and",
    "what is left, if anything. No headings, no list of steps.",
  ].join("\n");
}
