import type { Ledger, LedgerAnswer, OperationStore } from "@millrace/engine/storage/storage";
import { canonicalJson } from "./canonical-json.ts";
import { runHooks, type HookedCall, type ToolHook } from "./hooks.ts";
import type { Locks } from "./locks.ts";
import type { Rate } from "@millrace/engine/concurrency/limits";
import { recordOperation, settleFound } from "../undo/record-operation.ts";
import { runTool, type RunToolOptions } from "./run-tool.ts";
import type { Reconciled, Tool, ToolContext } from "./tool.ts";
import type { ToolResult } from "./result.ts";

/** What calls of all runs share: where effects are written down, who may touch what, and who watches. */
export interface CallRuntime {
  ledger: Ledger;
  locks: Locks;
  /** Where changes of the workspace are kept; absent where nobody can undo them. */
  operations?: OperationStore | undefined;
  hooks?: readonly ToolHook[] | undefined;
  /** How many calls of all sessions may begin in a second; absent where nothing bounds them. */
  toolRate?: Rate | undefined;
  /** Told what a hook has thrown. */
  onHookProblem?: ((hook: string, error: unknown) => void) | undefined;
}

/** One call of a tool with valid arguments; its name in the session is `context.callId`. */
export interface ToolCall {
  tool: Tool;
  input: Record<string, unknown>;
  context: ToolContext;
  run_id: string;
  message_id: string;
  /** Asked under the locks, right before the effect: a result says why the call must not run now. */
  refuse?: () => Promise<ToolResult | undefined>;
}

/** A call that runs now. */
interface Running {
  input: Record<string, unknown>;
  result: Promise<ToolResult>;
}

/** Calls that run now, by session, run and tool; shared by all users of the locks they hold. */
const inFlight = new WeakMap<Locks, Map<string, Set<Running>>>();

/**
 * Runs a call with everything that belongs around it: slot → locks → ledger → hooks → record for undo → the tool →
 * ledger. Every call has its effect at most once, also over a crash (law 3). The locks are asked for before anything is
 * awaited, so calls that touch the same things run in the order in which they were made. A call that equals one under
 * way in the same run gets that one's result. Failures of the tool are results; the storage's are thrown.
 */
export async function executeCall(
  call: ToolCall,
  runtime: CallRuntime,
  limits: Omit<RunToolOptions, "locks" | "rate"> = {},
): Promise<ToolResult> {
  const all = inFlight.get(runtime.locks) ?? new Map<string, Set<Running>>();
  inFlight.set(runtime.locks, all);
  const { tool, input, context } = call;
  const key = JSON.stringify([context.sessionId, call.run_id, tool.name]);
  const same = equalCall(all.get(key), input);
  if (same !== undefined) {
    const shared = await shareResult(call, runtime, same.result);
    if (shared !== undefined) return shared;
  }
  const work: Running = { input, result: executeAlone(call, runtime, limits) };
  const running = all.get(key) ?? new Set();
  all.set(key, running.add(work));
  try {
    return await work.result;
  } finally {
    running.delete(work);
    if (running.size === 0) all.delete(key);
  }
}

/** The latest call that does the same, if one is under way. Alone, as most calls are, nothing is compared. */
function equalCall(running: ReadonlySet<Running> | undefined, input: Record<string, unknown>): Running | undefined {
  if (running === undefined) return undefined;
  const text = canonicalJson(input);
  return [...running].findLast((other) => canonicalJson(other.input) === text);
}

/** The result of an equal call under way, written down as this call's own; `undefined` when this one was begun before. */
async function shareResult(
  call: ToolCall,
  { ledger }: CallRuntime,
  same: Promise<ToolResult>,
): Promise<ToolResult | undefined> {
  const answer = await ledger.start(ledgerRow(call));
  if (answer.kind !== "start") return undefined;
  const { operation: _, ...result } = await same;
  if (result.errorType !== "cancelled") {
    await ledger.finish(call.context.sessionId, call.context.callId, result);
  }
  return result;
}

async function executeAlone(
  call: ToolCall,
  runtime: CallRuntime,
  limits: Omit<RunToolOptions, "locks" | "rate">,
): Promise<ToolResult> {
  const { tool, input, context } = call;
  const { ledger, locks } = runtime;
  const progress: Progress = { isOpen: false, isRepeated: false, begunAt: undefined, broken: undefined };
  const inLedger: Tool = { ...tool, run: (_, inside) => runInLedger({ ...call, context: inside }, runtime, progress) };
  const result = await runTool(inLedger, input, context, { ...limits, locks, rate: runtime.toolRate });
  if (progress.broken !== undefined) throw progress.broken.error;
  // A call that a stop cut off has no known end: it stays open in the ledger. One that ended just before has.
  if (progress.isOpen && result.errorType !== "cancelled") {
    await ledger.finish(context.sessionId, context.callId, result);
  }
  if (progress.begunAt !== undefined) {
    const milliseconds = performance.now() - progress.begunAt;
    const tell = (hook: ToolHook) => hook[result.success ? "after" : "onError"]?.(hooked(call), result, milliseconds);
    await hooks(runtime, tell);
  }
  return result;
}

/** How far a call has come: whether the ledger waits for its end, since when the tool runs, what broke beside it. */
interface Progress {
  isOpen: boolean;
  isRepeated: boolean;
  begunAt: number | undefined;
  broken: { error: unknown } | undefined;
}

async function runInLedger(call: ToolCall, runtime: CallRuntime, progress: Progress): Promise<ToolResult> {
  const { tool, input, context, refuse } = call;
  const stored = <Result>(work: Promise<Result>): Promise<Result> =>
    work.catch((error: unknown) => {
      progress.broken = { error };
      throw error;
    });
  const operations = runtime.operations && failingLoudly(runtime.operations, stored);
  // A further attempt of a pure tool is in the ledger already.
  if (!progress.isOpen) {
    const answer = await stored(runtime.ledger.start(ledgerRow(call)));
    const known = await knownResult(call, operations, answer, progress);
    if (known !== undefined) return known;
    context.signal.throwIfAborted();
    // A repeated call may have begun to change what was approved: then the facts say nothing any more.
    const refusal = progress.isRepeated ? undefined : await refuse?.();
    context.signal.throwIfAborted();
    if (refusal !== undefined) return refusal;
    progress.begunAt = performance.now();
    await hooks(runtime, (hook) => hook.before?.(hooked(call)));
    // A hook may have taken long: nothing begins after a stop was answered.
    context.signal.throwIfAborted();
  }
  const { run_id, message_id } = call;
  const inside = { ...context, repeated: progress.isRepeated };
  if (operations === undefined || tool.touches === undefined) return tool.run(input, inside);
  return recordOperation(tool, input, inside, { run_id, message_id }, operations);
}

/** The store whose failures break the call: they are no results of the tool. */
function failingLoudly(
  store: OperationStore,
  stored: <Result>(work: Promise<Result>) => Promise<Result>,
): OperationStore {
  return {
    ...store,
    begin: (...given) => stored(store.begin(...given)),
    settle: (...given) => stored(store.settle(...given)),
    ofCall: (...given) => stored(store.ofCall(...given)),
  };
}

/** What the ledger knows of a call already; `undefined` when it has to run. An outcome that nobody knows stays open there. */
async function knownResult(
  call: ToolCall,
  operations: OperationStore | undefined,
  answer: LedgerAnswer,
  progress: Progress,
): Promise<ToolResult | undefined> {
  switch (answer.kind) {
    case "finished":
      // The ledger stores what finish() wrote: a ToolResult.
      return answer.result as ToolResult;
    case "unknown":
      return outcomeUnknown(call.tool, answer.started_at);
    case "reconcile": {
      const found = await reconcile(call, operations);
      if (found.kind === "unknown") return outcomeUnknown(call.tool, answer.started_at);
      progress.isOpen = true;
      progress.isRepeated = true;
      return found.kind === "done" ? found.result : undefined;
    }
    default:
      progress.isOpen = true;
      progress.isRepeated = answer.kind === "repeat";
      return undefined;
  }
}

/** Whether an earlier start of a `reconcilable` call had its effect. */
async function reconcile(
  { tool, input, context }: ToolCall,
  operations: OperationStore | undefined,
): Promise<Reconciled> {
  const begun = await operations?.ofCall(context.sessionId, context.callId);
  // What is kept for undo is on disk before the tool begins: without it nothing has begun.
  if (begun === undefined && operations !== undefined && tool.touches !== undefined) return { kind: "not_done" };
  const looking = { ...context, ...(begun && { begun: begun.change }) };
  const found = (await tool.reconcile?.(input, looking)) ?? { kind: "unknown" };
  if (found.kind !== "done" || begun === undefined || operations === undefined) return found;
  return { ...found, result: await settleFound(begun, found.result, context, operations) };
}

function ledgerRow({ tool, context, run_id }: ToolCall): Parameters<Ledger["start"]>[0] {
  const { sessionId: session_id, callId: tool_call_id } = context;
  return { session_id, tool_call_id, run_id, tool: tool.name, effect: tool.effect };
}

function hooked({ tool, context, run_id }: ToolCall): HookedCall {
  const { sessionId: session_id, callId: call_id } = context;
  return { tool: tool.name, effect: tool.effect, session_id, run_id, call_id };
}

function hooks(runtime: CallRuntime, work: Parameters<typeof runHooks>[1]): Promise<void> {
  return runHooks(runtime.hooks ?? [], work, (hook, error) => runtime.onHookProblem?.(hook, error));
}

function outcomeUnknown(tool: Tool, startedAt: string): ToolResult {
  return {
    success: false,
    code: "OUTCOME_UNKNOWN",
    message:
      `The server stopped while ${tool.name} was running (started ${startedAt}). Whether it took effect is not known, and ` +
      "it was not repeated. Look at the present state before you go on, and tell the user.",
    errorType: "execution_failed",
  };
}
