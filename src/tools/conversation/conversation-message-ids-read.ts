import { z } from "zod";
import { failure } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";
import { listResult } from "./deletion-list.ts";

/** Shows the model the messages it marked for deletion. */
export const conversationMessageIdsRead = defineTool({
  name: "conversation_message_ids_read",
  description: "Shows the list of messages that you have left out of what you see, by the 8 characters of their hints.",
  schema: z.object({}),
  effect: "pure",
  run: async () =>
    failure("unavailable_tool_mode", "The list belongs to a conversation, and can only be read in a turn of it."),
  inTurn: { reads: (_input, conversation) => listResult(conversation.deletions, conversation) },
  offered: { isDefault: false },
  example: { title: "What is left out", body: "{}" },
});
