import { createHash } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { AppError, isAppError } from "../errors.ts";
import type { Graphs } from "../graph/load.ts";
import { mayRemember } from "../guardrails/grants.ts";
import { toToolMessage } from "../loop/call-tool.ts";
import { judgeCall, lookAtCall, notApproved } from "../loop/judge-call.ts";
import { askedBesides } from "../loop/rulings.ts";
import type { RunServices } from "../loop/services.ts";
import { manualRunNote } from "../prompts/manual-run.ts";
import { LoopLimits } from "../state.ts";
import type { Session } from "../storage/records.ts";
import { executeCall } from "../tools/execute-call.ts";
import { tools as houseTools } from "../tools/index.ts";
import { toolNotFound } from "../tools/registry.ts";
import { prepareCall } from "../tools/run-tool.ts";
import type { Operation, Tool, ToolContext, ToolResult } from "../tools/tool.ts";
import type { ToolCounter } from "../tools/tool-counter.ts";
import type { ToolStatistics } from "../tools/tool-history.ts";
import type { SessionStorage } from "./door.ts";
import { readMessages } from "./conversation.ts";
import { appendMessages, requireIdle, type EditParts } from "./edit-messages.ts";
import { requireSession } from "./sessions.ts";
import { StoredMessage, toStored } from "./stored-message.ts";

/** A tool that somebody wants to run by hand. */
export interface ManualCall {
  tool: string;
  args: Record<string, unknown>;
  /** Names the call, with a hash of tool and arguments: the same again has no second effect and gives the first result. */
  submission?: { key: string; hash: string } | undefined;
  /** The hash of the question that was answered with yes. */
  approved_hash?: string | undefined;
}

/** What came of it: a result, with the messages that tell the model of it, or the question that has to be answered first. */
export type ManualAnswer =
  | { kind: "ran"; call_id: string | null; message_ids: string[]; result: ToolResult }
  | {
      kind: "ask";
      question: string;
      operation: Operation;
      args: Record<string, unknown>;
      hash: string;
      may_remember: boolean;
      has_changed: boolean;
    };

/** What runs by hand need. `services` are those that runs have, so that both meet at the same locks and the same ledger. */
interface ManualParts extends EditParts {
  services: RunServices;
  graphs: Graphs;
}

/** The tools as a person sees and runs them. */
export interface ManualTools {
  /** The tools of the house and those that the sources have now. */
  list(signal: AbortSignal): Promise<Tool[]>;
  /** Counts since the start of the server, of all sessions; `undefined` where there are none. */
  statistics(tool: string): ToolStatistics | undefined;
  /**
   * Runs one tool for the user, outside of a turn (TOOL-11): under the same rules, approvals, locks and ledger as a call
   * of the model, and with the same way back. The session's next turn sees the call and its result. Throws `not_found`,
   * `tool_not_found`, and `conflict` while a run works or a question waits, or for a key that named another call.
   */
  run(sessionId: string, call: ManualCall, signal: AbortSignal): Promise<ManualAnswer>;
}

/** The tools of a server, to be run by hand. */
export function createManualTools({ counter, ...parts }: ManualParts & { counter: ToolCounter }): ManualTools {
  return {
    list: (signal) => everyTool(parts.services, signal),
    statistics: (tool) => counter.of(tool),
    run: (sessionId, call, signal) => runByHand(parts, sessionId, call, signal),
  };
}

async function everyTool({ toolSources = [] }: RunServices, signal: AbortSignal): Promise<Tool[]> {
  const added = await Promise.all(toolSources.map((source) => source.tools(signal)));
  return [...Object.values(houseTools), ...added.flat()];
}

async function runByHand(
  parts: ManualParts,
  sessionId: string,
  call: ManualCall,
  signal: AbortSignal,
): Promise<ManualAnswer> {
  const session = await requireSession(parts.storage, sessionId);
  const tool = await requireTool(parts.services, call.tool, signal);
  const { submission } = call;
  const messageId = submission === undefined ? newId() : idOfKey(sessionId, submission.key);
  if (submission === undefined) return await runOnce(parts, session, call, { tool, messageId }, signal);
  // A repetition waits for the first, and finds its result. Nothing that runs asks for such a key, so none waits in a ring.
  return await parts.services.locks.withLocks([`by-hand:${messageId}`], signal, async () => {
    const known = await earlierResult(parts.storage, session, { tool, messageId }, submission.hash);
    if (known === undefined) return await runOnce(parts, session, call, { tool, messageId }, signal);
    const message_ids = await tellOnce(parts, session, { tool, messageId, input: call.args }, known.result);
    return { kind: "ran", ...known, message_ids };
  });
}

async function runOnce(
  parts: ManualParts,
  session: Session,
  call: ManualCall,
  { tool, messageId }: Pick<Told, "tool" | "messageId">,
  signal: AbortSignal,
): Promise<ManualAnswer> {
  const { session_id } = session;
  await requireIdle(parts.storage, session_id);
  // Throws for a graph that nobody serves, before anything is done.
  graphOf(session, parts.graphs);
  const prepared = prepareCall(tool, call.args);
  if (prepared.kind === "invalid") return { kind: "ran", call_id: null, message_ids: [], result: prepared.result };
  const { input } = prepared;
  const callId = `${prefixOf(messageId, call.submission?.hash)}${call.approved_hash?.slice(0, 16) ?? "0"}`;
  const context = contextOf(parts.services, session_id, callId, signal);
  const asked = await questionAbout(tool, input, call, context, parts.services);
  if (asked.kind !== "run") return asked;
  const { approved } = asked;
  const result = await executeCall(
    {
      tool,
      input,
      context,
      run_id: messageId,
      message_id: messageId,
      ...(approved === undefined ? {} : { refuse: () => refuseUnless(approved, tool, input, context) }),
    },
    parts.services,
  );
  if (result.code === notApproved(tool).code) {
    const again = await questionAbout(tool, input, call, context, parts.services);
    if (again.kind === "ask") return again;
  }
  const message_ids = await tell(parts, session, { tool, messageId, input }, result);
  return { kind: "ran", call_id: callId, message_ids, result };
}

async function requireTool(services: RunServices, name: string, signal: AbortSignal): Promise<Tool> {
  const all = await everyTool(services, signal);
  const tool = all.find((candidate) => candidate.name === name);
  if (tool !== undefined) return tool;
  const { message } = toolNotFound(
    name,
    all.map((candidate) => candidate.name),
  );
  throw new AppError("tool_not_found", message, { suggestion: "GET /tools lists them." });
}

/** What the rules say: run it, a result that refuses it, or the question that the hash in `call` does not answer. */
async function questionAbout(
  tool: Tool,
  input: Record<string, unknown>,
  call: ManualCall,
  context: ToolContext,
  { grants }: RunServices,
): Promise<ManualAnswer | { kind: "run"; approved?: string }> {
  const looking = { ...context, callId: "" };
  const ruling = await judgeCall(tool, input, looking, { userRequest: "", requiresConfirm: false, grants });
  switch (ruling.kind) {
    case "run":
      return ruling;
    case "refuse": {
      const { code, reason: message, errorType } = ruling;
      return { kind: "ran", call_id: null, message_ids: [], result: { success: false, code, message, errorType } };
    }
    case "ask": {
      const { question, operation, hash } = ruling.asked;
      if (call.approved_hash === hash) return { kind: "run", approved: hash };
      const has_changed = call.approved_hash !== undefined;
      return { kind: "ask", question, operation, args: input, hash, may_remember: mayRemember(operation), has_changed };
    }
  }
}

async function refuseUnless(
  approved: string,
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
): Promise<ToolResult | undefined> {
  const { hash } = await lookAtCall(tool, input, { ...context, callId: "" });
  return hash === approved ? undefined : notApproved(tool);
}

function contextOf(services: RunServices, sessionId: string, callId: string, signal: AbortSignal): ToolContext {
  const { workspace, tasks } = services;
  return { workspace, tasks, ...askedBesides(services), sessionId, callId, repeated: false, signal };
}

/** The graph that the session belongs to; one that had no run yet becomes the first graph's. */
function graphOf({ metadata }: Session, graphs: Graphs): string {
  const known = metadata["graph_id"];
  const id = typeof known === "string" ? known : graphs.ids()[0];
  if (id === undefined) throw new AppError("invalid_state", "No graph is served whose thread this could be.");
  graphs.get(id);
  return id;
}

/** How the names of a call begin in the ledger; the hash tells a call from another one under the same key. */
function prefixOf(messageId: string, hash: string | undefined): string {
  return hash === undefined ? `${messageId}/` : `${messageId}/${hash.slice(0, 16)}/`;
}

/** The end of this call under the same key, if it had one. Throws `conflict` where the key named another. */
async function earlierResult(
  { ledger }: SessionStorage,
  { session_id }: Session,
  { messageId, tool }: Pick<Told, "tool" | "messageId">,
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
    // The ledger stores what a call came to: a ToolResult.
    const result = row.result as ToolResult;
    if (result.code !== notApproved(tool).code) return { call_id, result };
  }
  return undefined;
}

/** The same key names the same call in a session: a UUID of version 8, whose bits are free for such a use (RFC 9562). */
function idOfKey(sessionId: string, key: string): string {
  const hex = createHash("sha256")
    .update(JSON.stringify([sessionId, key]))
    .digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

function messageIds(messageId: string, { errorType }: ToolResult): string[] {
  return errorType === "denied" ? [] : [`${messageId}-note`, messageId, `${messageId}-result`];
}

/** What the history is told of: the call, under the id of the message that makes it. */
interface Told {
  tool: Tool;
  input: Record<string, unknown>;
  messageId: string;
}

/** The same for a repetition: only where the first time the history could not be told, as when the server was killed. */
async function tellOnce(parts: ManualParts, session: Session, told: Told, result: ToolResult): Promise<string[]> {
  const messages = await readMessages(parts.storage, session.session_id);
  const isThere = messages.some(({ id }) => id === told.messageId);
  return isThere ? messageIds(told.messageId, result) : await tell(parts, session, told, result);
}

/**
 * Puts the call into the history: the user's word, the call, and its result, which is valid for every provider (law 6).
 * None where a run has begun meanwhile, which works on a state of its own.
 */
async function tell(
  parts: ManualParts,
  session: Session,
  { tool, input, messageId }: Told,
  result: ToolResult,
): Promise<string[]> {
  const ids = messageIds(messageId, result);
  const [noteId, , resultId] = ids;
  if (noteId === undefined || resultId === undefined) return [];
  const callName = { id: `call_${messageId}`, name: tool.name };
  const additional_kwargs = { manual: true };
  const answer = toToolMessage({ call: callName }, result, LoopLimits.parse({}).tool_result_max_length);
  const content = manualRunNote({ tool: tool.name }, parts.services.prompts);
  const messages = [
    new HumanMessage({ id: noteId, content, additional_kwargs }),
    new AIMessage({ id: messageId, content: "", tool_calls: [{ ...callName, args: input }], additional_kwargs }),
  ].map(toStored);
  const stored = [...messages, { ...toStored(answer), id: resultId }].map((one) => StoredMessage.parse(one));
  try {
    await appendMessages(parts, session, stored, graphOf(session, parts.graphs));
    return ids;
  } catch (error) {
    if (isAppError(error) && error.code === "conflict") return [];
    throw error;
  }
}
