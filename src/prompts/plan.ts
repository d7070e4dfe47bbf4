/** Asks for a plan of the request (DECOMP-02); the answer is JSON. `problem` says what was wrong with the last one. */
export function planPrompt({ tools, problem }: { tools: readonly string[]; problem: string | null }): string {
  return [
    "<!-- task: plan -->",
    "Break the user's last message into the fewest steps that do it, at most ten, in an order that works.",
    "Each step says its goal in the user's words and language, complete enough to be done on its own; the tool it mainly",
    "needs, or null; its input in a few words; and the ids of the steps it needs to be done first.",
    `Tools at hand: ${tools.join(", ")}.`,
    'Answer with JSON only: {"goal": "…", "steps": [{"id": "1", "goal": "…", "tool": "…" | null, "input": "…", "depends_on": []}]}',
    ...(problem === null ? [] : [`Your last answer could not be used: ${problem}`]),
  ].join("\n");
}
