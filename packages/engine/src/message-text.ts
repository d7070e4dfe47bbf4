import type { BaseMessage } from "@langchain/core/messages";

/** The text of a message's content, parts joined; parts that are not text count by their JSON. */
export function textOf(content: BaseMessage["content"]): string {
  if (typeof content === "string") return content;
  return content
    .map((part) => ("text" in part && typeof part.text === "string" ? part.text : JSON.stringify(part)))
    .join("\n");
}
