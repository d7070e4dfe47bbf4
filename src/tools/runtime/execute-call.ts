import type { Ledger, LedgerAnswer, OperationStore } from "@millrace/engine/storage/attempt-store";
import { canonicalJson } from "./canonical-json.ts";
import { runHooks, type HookedCall, type ToolHook } from "./hooks.ts";
import type { Locks } from "./locks.ts";
import type { RateLimiter } from "@millrace/engine/concurrency/limits";
import { recordOperation, settleFound } from "../undo/record-operation.ts";
import { runTool, type RunToolOptions } from "./run-tool.ts";
import type { Reconciled, Tool, ToolContext } from "./tool.ts";
import type { ToolResult } from "./result.ts";

/** Shared by the calls of all runs: ledger, locks, hooks. */
export interface CallRuntime {
  ledger: Ledger;
  locks: Locks;
  /** Stores workspace changes for undo; absent: no undo. */
  operations?: OperationStore | undefined;
  hooks?: readonly ToolHook[] | undefined;
  /** Rate limit for calls of all sessions; absent: unlimited. */
  toolRate?: RateLimiter | undefined;
  /** Called with a hook's error. */
  onHookProblem?: ((hook: string, error: unknown) => void) | undefined;
}

/** A tool call with valid arguments; `context.callId` is its ledger id. */
export interface ToolCall {
  tool: Tool;
  input: Record<string, unknown>;
  context: ToolContext;
  run_id: string;
  message_id: string;
  /** Called under the locks right before the effect; a result means that the call must not run. */
  refuse?: () => Promise<ToolResult | undefined>;
}

/** A call that runs now. */
interface Running {
  input: Record<string, unknown>;
  result: Promise<ToolResult>;
}

/** Running calls by session, run and tool; shared by all users of the same locks. */
const inFlight = new WeakMap<Locks, Map<string, Set<Running>>>();

/**
 * Runs a call with its surroundings: slot → locks → ledger → hooks → undo record → tool → ledger. Each call takes
 * effect at most once, even across a crash (law 3). Locks are requested before the first await, so conflicting calls
 * run in the order they were made. A call equal to a running one of the same run shares its result. Tool failures are
 * results; storage failures are thrown.
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

/** The latest running call with equal arguments. With no other call running, nothing is compared. */
function equalCall(running: ReadonlySet<Running> | undefined, input: Record<string, unknown>): Running | undefined {
  if (running === undefined) return undefined;
  const text = canonicalJson(input);
  return [...running].findLast((other) => canonicalJson(other.input) === text);
}

/** Records the result of an equal running call as this call's own; `undefined` if this call was started before. */
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
  // A call cut off by a stop stays open in the ledger, since its outcome is unknown; one that ended just before does
  // not.
  if (progress.isOpen && result.errorType !== "cancelled") {
    await ledger.finish(context.sessionId, context.callId, result);
  }
  if (progress.begunAt !== undefined) {
    const milliseconds = performance.now() - progress.begunAt;
    const callHook = (hook: ToolHook) =>
      hook[result.success ? "after" : "onError"]?.(hooked(call), result, milliseconds);
    await hooks(runtime, callHook);
  }
  return result;
}

/** Progress of a call: open in the ledger, repeated, start of the tool, storage failure. */
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
  // A retry of a pure tool is already in the ledger.
  if (!progress.isOpen) {
    const answer = await stored(runtime.ledger.start(ledgerRow(call)));
    const known = await knownResult(call, operations, answer, progress);
    if (known !== undefined) return known;
    context.signal.throwIfAborted();
    // A repeated call may have changed the approved facts itself.
    const refusal = progress.isRepeated ? undefined : await refuse?.();
    context.signal.throwIfAborted();
    if (refusal !== undefined) return refusal;
    progress.begunAt = performance.now();
    await hooks(runtime, (hook) => hook.before?.(hooked(call)));
    // A hook may have taken long; nothing may start after a stop was answered.
    context.signal.throwIfAborted();
  }
  const { run_id, message_id } = call;
  const { ledger } = runtime;
  const confirm = ledger.confirm && (() => stored(ledger.confirm?.() ?? Promise.resolve()));
  const inside = { ...context, repeated: progress.isRepeated, confirm };
  if (operations === undefined || tool.touches === undefined) return tool.run(input, inside);
  return recordOperation(tool, input, inside, { run_id, message_id }, operations);
}

/** Wraps the store so that its failures break the call instead of becoming tool results. */
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

/** The known result of a call; `undefined` if it must run. An unknown outcome stays open in the ledger. */
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

/** Whether an earlier start of a `reconcilable` call took effect. */
async function reconcile(
  { tool, input, context }: ToolCall,
  operations: OperationStore | undefined,
): Promise<Reconciled> {
  const recorded = await operations?.ofCall(context.sessionId, context.callId);
  // The undo record is stored before the tool starts: without one it never started.
  if (recorded === undefined && operations !== undefined && tool.touches !== undefined) return { kind: "not_done" };
  const looking = { ...context, ...(recorded && { begun: recorded.change }) };
  const found = (await tool.reconcile?.(input, looking)) ?? { kind: "unknown" };
  if (found.kind !== "done" || recorded === undefined || operations === undefined) return found;
  return { ...found, result: await settleFound(recorded, found.result, context, operations) };
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
