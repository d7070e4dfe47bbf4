import { isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import type { AttachedFile } from "../../context/layers.ts";
import type { UserReference } from "../../user-context.ts";

/** What comes with the user's message. */
export interface MessageAttachments {
  references: UserReference[];
  attachments: AttachedFile[];
}

/** `sessions/` has validated it, but other programs may write states too. */
const Kept = z.object({
  references: z
    .array(z.object({ type: z.string(), source: z.string(), content: z.string() }))
    .nullish()
    .catch([]),
  attachments: z
    .array(
      z.object({
        type: z.string(),
        name: z.string(),
        path: z.string(),
        mime_type: z.string().default(""),
        size: z.number().default(0),
      }),
    )
    .nullish()
    .catch([]),
});

/** References and attachments of the user's last message; earlier ones were shown in their turns. */
export function attachedTo(messages: readonly BaseMessage[]): MessageAttachments {
  const { references, attachments } = Kept.parse(messages.findLast(isHumanMessage)?.additional_kwargs ?? {});
  return { references: references ?? [], attachments: attachments ?? [] };
}
