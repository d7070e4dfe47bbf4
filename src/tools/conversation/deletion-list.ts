import { z } from "zod";
import { success, type ToolResult } from "../runtime/result.ts";
import type { Conversation } from "../runtime/tool.ts";

/** The name of the tool that changes the list. */
export const writeTool = "conversation_message_ids_write";

/** A change of the list of messages hidden from the model. */
export const DeletionChange = z.object({
  message_ids: z
    .string()
    .max(20_000)
    .describe('the 8 characters of each message as its hint gives them, comma separated: "9226b3a4,204e1cd8"')
    .superRefine((text, context) => {
      const ids = idsIn(text);
      const wrong = ids.filter((id) => !/^[0-9a-f]{8}$/u.test(id));
      if (wrong.length === 0 && ids.length > 0) return;
      const came = wrong.slice(0, 3).join(", ") || "none";
      const message = `expected ids of 8 characters (0-9, a-f), comma separated, and got ${came}`;
      context.addIssue({ code: "custom", message });
    }),
  action: z
    .enum(["create", "append", "delete"])
    .describe("create: this is the new list; append: these come to the list; delete: these are shown again"),
});
export type DeletionChange = z.infer<typeof DeletionChange>;

/** Splits a model's comma-separated ids. */
export function idsIn(text: string): string[] {
  const ids = text.split(",").map((id) => id.trim().toLowerCase());
  return ids.filter((id) => id !== "");
}

/** Changes the list in place; a long session's list is rebuilt before each model call. */
export function changeDeletionList(list: Set<string>, { message_ids, action }: DeletionChange): void {
  if (action === "create") list.clear();
  for (const id of idsIn(message_ids)) {
    if (action === "delete") list.delete(id);
    else list.add(id);
  }
}

/** The result for the model: the list, and ids that match no message. */
export function listResult(list: readonly string[], { known }: Pick<Conversation, "known">): ToolResult {
  const unknown = list.filter((id) => !known.has(id));
  const lines = [
    list.length === 0
      ? "No message is left out."
      : `Left out from the next call on (${list.length}): ${list.join(", ")}.`,
    ...(unknown.length === 0 ? [] : [`These name no message of this conversation: ${unknown.join(", ")}.`]),
  ];
  return success(lines.join(" "), {
    data: { message_ids: [...list], unknown },
    message_zh: list.length === 0 ? "没有隐藏任何消息。" : `从下一次调用起隐藏 ${list.length} 条消息。`,
  });
}
