/** Asks where a turn should go (ARCH-19); the answer is JSON. */
export function intentPrompt({ tools }: { tools: readonly string[] }): string {
  return [
    "<!-- task: intent -->",
    "Decide how the assistant should handle the user's last message. Choose one route:",
    '- "reply": thanks, small talk, or a question that needs no tool.',
    '- "free_work": a request that the assistant can work out as it goes, with tools where needed.',
    '- "plan": several goals, or several steps that depend on each other.',
    '- "action": one clear instruction that one tool carries out.',
    `Tools at hand: ${tools.join(", ")}.`,
    'Answer with JSON only: {"route": "reply" | "free_work" | "plan" | "action", "reason": "a few words"}',
  ].join("\n");
}
