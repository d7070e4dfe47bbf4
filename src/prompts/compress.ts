/** Asks for the structured summary of older messages (COMP-05); the answer is JSON. */
export function compressPrompt({ previous }: { previous: string | null }): string {
  return [
    "<!-- task: compress -->",
    "Summarise the conversation so far, so that work can go on without the messages. Keep names of files, decisions, numbers",
    "and open questions. At most 1000 characters in all.",
    ...(previous === null ? [] : [`It continues this earlier summary, which yours replaces: ${previous}`]),
    "Answer with JSON only:",
    '{"goal": "…", "completed": ["…"], "todo": ["…"], "attempted_solutions": ["…"], "current_problem": "…", "key_decisions": ["…"]}',
  ].join("\n");
}
