import { z } from "zod";
import { readDecision } from "../../sessions/questions/read-decision.ts";
import type { Session } from "../../storage/records.ts";
import type { RunRequest } from "./draft.ts";

/** A question that a word answers. */
const AnsweredByWord = z.looseObject({
  kind: z.enum(["confirmation", "chain_confirm"]),
  keywords: z.array(z.string()),
});
const OneMessage = z.union([z.looseObject({ content: z.string() }), z.string().transform((content) => ({ content }))]);
const TypedInput = z.strictObject({ messages: z.union([z.tuple([OneMessage]), OneMessage.transform((one) => [one])]) });

/**
 * A next message that is nothing but a yes or a no answers the one confirmation that the session waits for: people type
 * "confirm" where clients have no button. Any other message goes on without it.
 */
export function withTypedAnswer(session: Session, request: RunRequest): RunRequest {
  if (request.command !== undefined || session.status !== "interrupted") return request;
  const [question, ...others] = Object.values(session.interrupts).flat();
  if (others.length > 0 || !AnsweredByWord.safeParse(question?.value).success) return request;
  const word = TypedInput.safeParse(request.input).data?.messages[0]?.content;
  if (word === undefined || readDecision(word).kind === "unclear") return request;
  const { input: _said, ...rest } = request;
  return { ...rest, command: { resume: word } };
}
