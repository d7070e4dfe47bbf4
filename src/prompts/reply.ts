/** L1 of a direct reply: no tools, a few sentences (CLAR-02). */
export function replyPrompt(): string {
  return "<!-- layer: task -->\nReply directly, in a few sentences. No tools are at hand for this reply.";
}
