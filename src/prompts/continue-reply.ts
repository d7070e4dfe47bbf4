/** Asks for the rest of a reply that was cut off; it is appended as it comes (STOP-09). */
export function continueReply(): string {
  return [
    "<!-- task: continue_reply -->",
    "Your last reply was cut off. Write only what is missing, beginning with the very next character.",
    "Repeat nothing of it, and say nothing about the interruption.",
  ].join("\n");
}
