import { createHash } from "node:crypto";
import { AppError } from "@millrace/engine/errors/errors";
import { notApproved } from "../../loop/tool-call/judge-call.ts";
import type { Session } from "@millrace/engine/storage/records";
import type { SessionStorage } from "@millrace/engine/sessions/scope/session-storage";
import type { RecordedCall } from "./manual-history.ts";
import type { ToolResult } from "../../tools/runtime/result.ts";

/** The prefix of a call's names in the ledger; the hash distinguishes different calls under the same key. */
export function prefixOf(messageId: string, hash: string | undefined): string {
  return hash === undefined ? `${messageId}/` : `${messageId}/${hash.slice(0, 16)}/`;
}

/** The end of this call under the same key, if it had one. Throws `conflict` where the key named another. */
export async function earlierResult(
  { ledger }: SessionStorage,
  { session_id }: Session,
  { messageId, tool }: Pick<RecordedCall, "tool" | "messageId">,
  hash: string,
): Promise<{ call_id: string; result: ToolResult } | undefined> {
  for (const row of await ledger.list(session_id)) {
    const { tool_call_id: call_id } = row;
    if (!call_id.startsWith(prefixOf(messageId, undefined))) continue;
    if (!call_id.startsWith(prefixOf(messageId, hash))) {
      throw new AppError("conflict", `This key names an earlier call of ${row.tool}, which was not the same.`, {
        suggestion: "Send a key of its own with each call.",
      });
    }
    if (row.state !== "finished") continue;
    // The ledger stores a call's outcome: a ToolResult.
    const result = row.result as ToolResult;
    if (result.code !== notApproved(tool).code) return { call_id, result };
  }
  return undefined;
}

/** The same key names the same call in a session: a UUID of version 8, whose bits are free for such a use (RFC 9562). */
export function idOfKey(sessionId: string, key: string): string {
  const hex = createHash("sha256")
    .update(JSON.stringify([sessionId, key]))
    .digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
