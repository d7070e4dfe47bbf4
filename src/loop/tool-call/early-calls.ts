import { AIMessage, isAIMessageChunk } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { onAbort } from "@millrace/engine/concurrency/abort";
import { writtenCall, type WrittenCall } from "@millrace/models/messages/written-call";
import { canonicalJson } from "../../tools/runtime/canonical-json.ts";
import type { ToolResult } from "../../tools/runtime/result.ts";
import { prepareCall, runTool } from "../../tools/runtime/run-tool.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { callsAtOnce } from "../limits/limits.ts";
import { turnOf } from "../limits/review.ts";
import { emit, loopCall } from "../request.ts";
import { profilesOf, servicesOf } from "../services.ts";
import type { LoopState } from "../state.ts";
import { requestedCalls } from "./requested-calls.ts";
import { ruleOn, toolContext } from "./rulings.ts";
import type { BegunCalls, RequestedCall } from "./tool-task.ts";

/** A call that runs while its reply is still being written. */
interface EarlyCall extends WrittenCall {
  result: Promise<ToolResult>;
  /** Ends the call if nobody takes its result. */
  stop: AbortController;
}

/**
 * Runs calls of one streaming reply before the reply is over: those written in its text, as soon as each is closed. Only
 * tools without effects begin early, and only if the rules allow the call without asking anybody. They are the first
 * calls of the reply: a call behind one that must wait would not see its effect. The step that runs the reply's calls
 * takes the results; ledger and hooks are there, since a pure call may be repeated after a crash.
 */
export class EarlyCalls implements BegunCalls {
  readonly #state: LoopState;
  readonly #config: LangGraphRunnableConfig;
  readonly #written: WrittenCall[] = [];
  /** Begun and not taken yet, by id. */
  readonly #begun = new Map<string, EarlyCall>();
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

  has(id: string): boolean {
    return this.#begun.has(id);
  }

  handOver(tool: Tool, call: { id: string; args: Record<string, unknown> }): Tool {
    const early = this.#begun.get(call.id);
    if (early === undefined || early.name !== tool.name || canonicalJson(early.args) !== canonicalJson(call.args)) {
      return tool;
    }
    this.#begun.delete(call.id);
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

  end(status: "pending" | "cancelled"): void {
    this.close();
    for (const { id, name, stop } of this.#begun.values()) {
      stop.abort();
      // After a stop the run itself tells what became of its calls.
      if (this.#config.signal?.aborted === true) continue;
      emit(this.#config, { type: "tool_status", tool_call_id: id, tool_name: name, status });
    }
    this.#begun.clear();
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
      (await ruleOn(requested, turnOf(messages, loop), this.#config, messages)).kind === "run";
    const prepared = mayBegin ? prepareCall(tool, call.args) : undefined;
    if (!mayBegin || prepared?.kind !== "ready") this.close();
    else if (this.#isOpen && this.#config.signal?.aborted !== true) this.#begin(call, requested, tool, prepared.input);
  }

  #begin(call: WrittenCall, { ledger_id }: RequestedCall, tool: Tool, input: Record<string, unknown>): void {
    const config = this.#config;
    const { locks, toolRate } = servicesOf(config);
    const { limits } = loopCall(config);
    const status = { type: "tool_status", tool_call_id: call.id, tool_name: call.name } as const;
    emit(config, { ...status, status: "pending" });
    emit(config, { ...status, status: "executing" });
    const stop = new AbortController();
    const forget = onAbort(config.signal, () => stop.abort(config.signal?.reason));
    const context = { ...toolContext(config, ledger_id), signal: stop.signal };
    const result = runTool(tool, input, context, {
      locks,
      rate: toolRate,
      retries: 0,
      timeoutSeconds: limits.tool_timeout_seconds ?? tool.timeoutSeconds,
      maxParallel: callsAtOnce(loopCall(config), profilesOf(config)),
    }).finally(forget);
    this.#begun.set(call.id, { ...call, result, stop });
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
