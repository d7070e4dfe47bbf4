import { SystemMessage } from "@langchain/core/messages";

/** Stands between the parts of a system text. */
export const layerSeparator = "\n\n---\n\n";

/** The only place where a system message is made. */
export function systemMessage(text: string): SystemMessage {
  return new SystemMessage(text);
}
