import { AIMessage, isAIMessageChunk } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { onAbort } from "@millrace/engine/concurrency/abort";
import { writtenCall, type WrittenCall } from "@millrace/models/messages/written-call";
import { canonicalJson } from "../../tools/runtime/canonical-json.ts";
import { executeCall } from "../../tools/runtime/execute-call.ts";
import type { ToolResult } from "../../tools/runtime/result.ts";
import { prepareCall, runTool, type RunToolOptions } from "../../tools/runtime/run-tool.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { parallelCallLimit } from "../limits/limits.ts";
import { turnOf } from "../limits/review.ts";
import { emit, loopCall } from "../request.ts";
import { afterWaiting, profilesOf, servicesOf } from "../services.ts";
import type { LoopState } from "../state.ts";
import { requestedCalls } from "./requested-calls.ts";
import { ledgerCall, decideCall, toolContext } from "./rulings.ts";
import type { StartedCalls, RequestedCall } from "./tool-task.ts";

/** A call that runs while its reply is still being written. */
interface EarlyCall extends WrittenCall {
  /** Known once the reply is over. */
  ledger_id: string | undefined;
  tool: Tool;
  input: Record<string, unknown>;
  result: Promise<ToolResult>;
  /** Aborted if the call's result is not taken. */
  stop: AbortController;
}

/**
 * Runs calls of one streaming reply before the reply is over: those written in its text, as soon as each is closed. Only
 * tools without effects begin early, and only if the rules allow the call without asking anybody. They are the first
 * calls of the reply: a call behind one that must wait would not see its effect. The step that runs the reply's calls
 * takes the results; ledger and hooks are there, since a pure call may be repeated after a crash. If that step must wait
 * for an approval first, the results are stored for it.
 */
export class EarlyCalls implements StartedCalls {
  readonly #state: LoopState;
  readonly #config: LangGraphRunnableConfig;
  readonly #written: WrittenCall[] = [];
  /** Begun and not taken yet, by id. */
  readonly #early = new Map<string, EarlyCall>();
  /** Decides about the calls one after the other. */
  #decisions: Promise<void> = Promise.resolve();
  #isOpen: boolean;

  constructor(state: LoopState, config: LangGraphRunnableConfig) {
    this.#state = state;
    this.#config = config;
    // A closing reply is the answer; its calls do not run.
    this.#isOpen = state.closing === null;
  }

  read(chunk: ChatGenerationChunk): void {
    const { message } = chunk;
    if (!this.#isOpen || !isAIMessageChunk(message)) return;
    const call = writtenCall(chunk);
    if (call === undefined) {
      // A call of another kind waits for the end of the reply, and the calls behind it with it.
      if (message.tool_call_chunks?.some(({ args = "" }) => args !== "") === true) this.close();
      return;
    }
    this.#written.push(call);
    const reply = new AIMessage({
      ...(message.id === undefined ? {} : { id: message.id }),
      content: "",
      tool_calls: [...this.#written],
    });
    this.#decisions = this.#decisions
      .then(() => this.#decide(call, reply))
      // The ruling on the whole reply meets the same failure, and reports it.
      .catch(() => this.close());
  }

  /** The reply is over: no further call begins early. */
  close(): void {
    this.#isOpen = false;
  }

  identify(calls: readonly RequestedCall[]): void {
    for (const { call, ledger_id } of calls) {
      const early = this.#early.get(call.id);
      if (early !== undefined) early.ledger_id = ledger_id;
    }
  }

  has(id: string): boolean {
    return this.#early.has(id);
  }

  planDelegation(tool: Tool, call: { id: string; args: Record<string, unknown> }): Tool {
    const early = this.#early.get(call.id);
    if (early === undefined || early.name !== tool.name || canonicalJson(early.args) !== canonicalJson(call.args)) {
      return tool;
    }
    this.#early.delete(call.id);
    let { result }: Partial<EarlyCall> = early;
    return {
      ...tool,
      run: (input, context) => {
        const first = result;
        result = undefined;
        return first ?? tool.run(input, context);
      },
    };
  }

  async keep(): Promise<void> {
    this.close();
    const config = this.#config;
    const runtime = afterWaiting(servicesOf(config));
    const store = async (call: EarlyCall): Promise<void> => {
      const { ledger_id, input } = call;
      if (ledger_id === undefined) return;
      const tool = this.planDelegation(call.tool, call);
      await executeCall(ledgerCall(tool, input, ledger_id, config), runtime, this.#limits(tool));
      this.#emitStatus(call, "pending");
    };
    await Promise.all([...this.#early.values()].map(store));
  }

  end(): void {
    this.close();
    for (const call of this.#early.values()) {
      call.stop.abort();
      this.#emitStatus(call, "cancelled");
    }
    this.#early.clear();
  }

  /** Begins the call if it may run now; otherwise it and all later ones wait for the end of the reply. */
  async #decide(call: WrittenCall, reply: AIMessage): Promise<void> {
    if (!this.#isOpen) return;
    const loop = loopCall(this.#config);
    const tool = loop.tools.find(({ name }) => name === call.name);
    const messages = [...this.#state.messages, reply];
    const requested = requestedCalls(reply, { ...this.#state, messages }, loop).at(-1);
    const mayBegin =
      requested !== undefined &&
      tool !== undefined &&
      runsAlone(tool) &&
      (await decideCall(requested, turnOf(messages, loop), this.#config, messages)).kind === "run";
    const prepared = mayBegin ? prepareCall(tool, call.args) : undefined;
    if (!mayBegin || prepared?.kind !== "ready") this.close();
    else if (this.#isOpen && this.#config.signal?.aborted !== true) this.#begin(call, tool, prepared.input);
  }

  #limits(tool: Tool): Omit<RunToolOptions, "locks" | "rate"> {
    const loop = loopCall(this.#config);
    return {
      retries: 0,
      timeoutSeconds: loop.limits.tool_timeout_seconds ?? tool.timeoutSeconds,
      maxParallel: parallelCallLimit(loop, profilesOf(this.#config)),
    };
  }

  #emitStatus({ id, name }: WrittenCall, status: "pending" | "executing" | "cancelled"): void {
    // After a stop the run itself tells what became of its calls.
    if (this.#config.signal?.aborted === true) return;
    emit(this.#config, { type: "tool_status", tool_call_id: id, tool_name: name, status });
  }

  #begin(call: WrittenCall, tool: Tool, input: Record<string, unknown>): void {
    const config = this.#config;
    const { locks, toolRate } = servicesOf(config);
    this.#emitStatus(call, "pending");
    this.#emitStatus(call, "executing");
    const stop = new AbortController();
    const forget = onAbort(config.signal, () => stop.abort(config.signal?.reason));
    const context = { ...toolContext(config), signal: stop.signal };
    const result = runTool(tool, input, context, { ...this.#limits(tool), locks, rate: toolRate }).finally(forget);
    this.#early.set(call.id, { ...call, ledger_id: undefined, tool, input, result, stop });
  }
}

/** Whether a call of the tool depends on nothing but itself and leaves nothing behind. */
function runsAlone({ effect, inTurn }: Tool): boolean {
  const isTurnsOwn =
    inTurn?.asks !== undefined ||
    inTurn?.reads !== undefined ||
    inTurn?.delegates !== undefined ||
    inTurn?.completes === true;
  return effect === "pure" && !isTurnsOwn;
}
