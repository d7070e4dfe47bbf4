import { resultText, type ToolResult } from "../../tools/runtime/result.ts";
import type { OwnerScope } from "@millrace/engine/sessions/scope/owner-scope";

/** A tool call's whole result as text, of which the model may have read only the beginning and the end. */
export interface WholeResult {
  tool: string;
  text: string;
}

/**
 * The whole result of a call, by the id that `whole_result` of its message names. `undefined` where the session has no
 * such call, and while the call has no result.
 */
export async function readWholeResult(
  { storage }: Pick<OwnerScope, "storage">,
  sessionId: string,
  resultId: string,
): Promise<WholeResult | undefined> {
  const row = await storage.ledger.get(sessionId, resultId);
  if (row?.state !== "finished") return undefined;
  // The ledger stores what finish() wrote: a ToolResult.
  return { tool: row.tool, text: resultText(row.result as ToolResult) };
}
