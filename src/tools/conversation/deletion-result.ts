import { success } from "../runtime/result.ts";
import type { Conversation, ToolResult } from "../runtime/tool.ts";

/** What the model reads of the list of messages that it does not see; ids that name no message are told apart. */
export function listResult(list: readonly string[], { known }: Pick<Conversation, "known">): ToolResult {
  const unknown = list.filter((id) => !known.has(id));
  const lines = [
    list.length === 0
      ? "No message is left out."
      : `Left out from the next call on (${list.length}): ${list.join(", ")}.`,
    ...(unknown.length === 0 ? [] : [`These name no message of this conversation: ${unknown.join(", ")}.`]),
  ];
  return success(lines.join(" "), { data: { message_ids: [...list], unknown } });
}
