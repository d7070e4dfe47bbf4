import { success } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";
import { changeDeletionList, DeletionChange, listResult, writeTool } from "./deletion-list.ts";

/** The model marks messages it no longer needs. The call itself is the record. */
export const conversationMessageIdsWrite = defineTool({
  name: writeTool,
  description:
    "Leaves messages of this conversation out of what you see, from the next call on, to save room: old file contents, " +
    "failed attempts, what is not needed any more. Each message ends with a hint that gives its 8 characters. The messages " +
    "stay stored, and the action delete shows them again. A call and its results go together; the current request stays.",
  schema: DeletionChange,
  effect: "pure",
  run: async () => success("Noted.", { message_zh: "已记录。" }),
  inTurn: {
    reads: (change, conversation) => {
      const list = new Set(conversation.deletions);
      changeDeletionList(list, change);
      return listResult([...list], conversation);
    },
  },
  offered: { isDefault: false },
  example: { title: "Two messages", body: '{"message_ids": "9226b3a4,204e1cd8", "action": "append"}' },
});
