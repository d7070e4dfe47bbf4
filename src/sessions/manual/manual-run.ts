import { v7 as newId } from "@langchain/core/utils/uuid";
import { notApproved } from "../../loop/tool-call/judge-call.ts";
import type { Session } from "@millrace/engine/storage/records";
import { executeCall } from "../../tools/runtime/execute-call.ts";
import { prepareCall } from "../../tools/runtime/run-tool.ts";
import type { CallEffect } from "../../tools/runtime/call-effect.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import type { ToolCounter } from "../../tools/runtime/hooks.ts";
import type { ToolStatistics } from "../../tools/runtime/tool-history.ts";
import { requireIdle } from "@millrace/engine/sessions/state/edit-messages";
import type { ManualAnswer, ManualCall, ManualParts } from "./manual-call.ts";
import { graphOf, recordCall, recordCallOnce, type RecordedCall } from "./manual-history.ts";
import { earlierResult, idOfKey, prefixOf } from "./manual-key.ts";
import { questionAbout, refuseUnless } from "./manual-question.ts";
import { requireSession } from "@millrace/engine/sessions/sessions";
import { contextOf, everyTool, requireTool } from "./tool-lookup.ts";
import {
  effectOfWaiting,
  previewCall,
  type CallPreview,
  type PreviewedCall,
  type WaitingCall,
} from "./preview-call.ts";

/** The tools as a person sees and runs them. */
export interface ManualTools {
  /** Built-in tools and those of sources, limited to the owner's; `null`: no limit. */
  list(signal: AbortSignal, owner: string | null): Promise<Tool[]>;
  /** Counts since the start of the server, of all sessions; `undefined` where there are none. */
  statistics(tool: string): ToolStatistics | undefined;
  /**
   * Runs one tool for the user, outside of a turn: under the same rules, approvals, locks and ledger as a call of the
   * model, and with the same way back. The session's next turn sees the call and its result. Throws `not_found`,
   * `tool_not_found`, and `conflict` while a run works or a question waits, or for a key that named another call.
   */
  run(sessionId: string, call: ManualCall, signal: AbortSignal): Promise<ManualAnswer>;
  /**
   * Previews such a run and whether it needs approval. Changes nothing, and works while a run is active. Throws
   * `not_found`, `tool_not_found`, and argument errors.
   */
  preview(sessionId: string, call: PreviewedCall, signal: AbortSignal): Promise<CallPreview>;
  /** Previews a call that waits for approval; `null` if its tool is gone or takes other arguments now. */
  effectOf(sessionId: string, call: WaitingCall, signal: AbortSignal): Promise<CallEffect | null>;
}

/** The tools of a server, to be run by hand. */
export function createManualTools({ counter, ...parts }: ManualParts & { counter: ToolCounter }): ManualTools {
  return {
    list: (signal, owner) => everyTool(parts.services, owner, signal),
    statistics: (tool) => counter.of(tool),
    run: (sessionId, call, signal) => runManually(parts, sessionId, call, signal),
    preview: (sessionId, call, signal) => previewCall(parts, sessionId, call, signal),
    effectOf: (sessionId, call, signal) => effectOfWaiting(parts, sessionId, call, signal),
  };
}

async function runManually(
  parts: ManualParts,
  sessionId: string,
  call: ManualCall,
  signal: AbortSignal,
): Promise<ManualAnswer> {
  const session = await requireSession(parts.storage, sessionId);
  const tool = await requireTool(parts.services, call.tool, call.owner ?? session.owner, signal);
  const { submission } = call;
  const messageId = submission === undefined ? newId() : idOfKey(sessionId, submission.key);
  if (submission === undefined) return await runOnce(parts, session, call, { tool, messageId }, signal);
  // A repeated request waits for the first and finds its result. Nothing within the lock takes such a key, so this
  // cannot deadlock.
  return await parts.services.locks.withLocks([`by-hand:${messageId}`], signal, async () => {
    const known = await earlierResult(parts.storage, session, { tool, messageId }, submission.hash);
    if (known === undefined) return await runOnce(parts, session, call, { tool, messageId }, signal);
    const message_ids = await recordCallOnce(parts, session, { tool, messageId, input: call.args }, known.result);
    return { kind: "ran", ...known, message_ids };
  });
}

async function runOnce(
  parts: ManualParts,
  session: Session,
  call: ManualCall,
  { tool, messageId }: Pick<RecordedCall, "tool" | "messageId">,
  signal: AbortSignal,
): Promise<ManualAnswer> {
  const { session_id } = session;
  await requireIdle(parts.storage, session_id);
  // Throws for a graph that is not served, before anything is done.
  graphOf(session, parts.graphs);
  const prepared = prepareCall(tool, call.args);
  if (prepared.kind === "invalid") return { kind: "ran", call_id: null, message_ids: [], result: prepared.result };
  const { input } = prepared;
  const callId = `${prefixOf(messageId, call.submission?.hash)}${call.approved_hash?.slice(0, 16) ?? "0"}`;
  const context = contextOf(parts.services, session_id, { callId, owner: call.owner }, signal);
  const verdict = await questionAbout(tool, input, call, context, parts.services);
  if (verdict.kind !== "run") return verdict;
  const { approved } = verdict;
  const result = await executeCall(
    {
      tool,
      input,
      context,
      run_id: messageId,
      message_id: messageId,
      ...(approved === undefined ? {} : { refuse: () => refuseUnless(approved, tool, input, context) }),
    },
    { ...parts.services, ...parts.stores },
  );
  if (result.code === notApproved(tool).code) {
    const again = await questionAbout(tool, input, call, context, parts.services);
    if (again.kind === "ask") return again;
  }
  const message_ids = await recordCall(parts, session, { tool, messageId, input }, result);
  return { kind: "ran", call_id: callId, message_ids, result };
}
