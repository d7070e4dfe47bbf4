import { Command, interrupt, Send, task, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { prepareCall } from "../tools/runtime/run-tool.ts";
import type { Tool, UserQuestion } from "../tools/runtime/tool.ts";
import { readDecision } from "@millrace/engine/sessions/questions/read-decision";
import { confirmationRequest, type ApprovalQuestion } from "./tool-call/approval-request.ts";
import { chainRequest, declinedChain, readChainAnswer } from "./tool-call/chain.ts";
import { questionRequest, readAnswer } from "./tool-call/user-question.ts";
import { loopCall, type LoopRequest, userLanguage } from "./request.ts";
import { inspectRequestedCall, decideCall, decideInput } from "./tool-call/rulings.ts";
import {
  writtenArguments,
  type CallRuling,
  type Outcome,
  type Ruling,
  type RuledCall,
  type ToolTask,
} from "./tool-call/tool-task.ts";
import type { ToolResult } from "../tools/runtime/result.ts";

/**
 * Asks about one requested call: for approval, for consent to a further call, or the call's own question. It has no
 * effects (law 1), since it restarts from its first line on resume. Every call, refused or not, goes to exactly one
 * `call_tool` (law 6).
 */
export async function approveCall(ruled: RuledCall, config: LangGraphRunnableConfig): Promise<Command> {
  const { ruling = await decideCall(ruled, undefined, config), ...requested } = ruled;
  const toolTask: ToolTask = { ...requested, outcome: await outcomeOf(ruling, requested, config) };
  return new Command({ goto: new Send("call_tool", toolTask) });
}

async function outcomeOf(
  ruling: Ruling,
  requested: Omit<RuledCall, "ruling">,
  config: LangGraphRunnableConfig,
): Promise<Outcome> {
  switch (ruling.kind) {
    case "ask":
      return extraApprovals(requested, ruling.asked, config);
    case "chain":
      return askToContinue(requested, config);
    case "question":
      return { kind: "answer", result: askUser(requested, ruling.asked, loopCall(config)) };
    default:
      return ruling;
  }
}

/** Asks the user to confirm a further tool of this turn; any other answer declines. */
async function askToContinue(requested: Omit<RuledCall, "ruling">, config: LangGraphRunnableConfig): Promise<Outcome> {
  const { call } = requested;
  const answer = readChainAnswer(interrupt(chainRequest(call, userLanguage(loopCall(config)))));
  if (answer.kind === "declined") return declinedChain(answer.comment);
  const tool = loopCall(config).tools.find((candidate) => candidate.name === call.name);
  if (tool === undefined) return { kind: "unknown_tool" };
  const prepared = prepareCall(tool, writtenArguments(call.args));
  if (prepared.kind === "invalid") return { kind: "answer", result: prepared.result };
  // The call's effect may have changed while it waited; then it needs its own approval.
  return outcomeOf(await storedRuling(() => decideInput(tool, prepared.input, config)), requested, config);
}

/** Asks the call's own question until the answer is usable. */
function askUser(
  { call }: Pick<RuledCall, "call">,
  question: UserQuestion,
  { isPlanning }: Pick<LoopRequest, "isPlanning">,
): ToolResult {
  let problem: string | undefined;
  for (;;) {
    const answer = readAnswer(interrupt(questionRequest(call, question, problem)), question, isPlanning);
    if (answer.kind === "result") return answer.result;
    ({ problem } = answer);
  }
}

async function extraApprovals(
  requested: Omit<RuledCall, "ruling">,
  question: ApprovalQuestion,
  config: LangGraphRunnableConfig,
): Promise<Outcome> {
  const { call } = requested;
  const tool = loopCall(config).tools.find((candidate) => candidate.name === call.name);
  if (tool === undefined) return { kind: "unknown_tool" };
  const prepared = prepareCall(tool, writtenArguments(call.args));
  if (prepared.kind === "invalid") return { kind: "answer", result: prepared.result };
  return confirmed(tool, prepared.input, call.id, question, config);
}

/**
 * Asks until the answer is usable and the approved effect is unchanged. Each further question is a new interrupt of the
 * same task with its own id.
 */
async function confirmed(
  tool: Tool,
  input: Record<string, unknown>,
  callId: string,
  first: ApprovalQuestion,
  config: LangGraphRunnableConfig,
): Promise<Outcome> {
  let question = first;
  let problem: string | undefined;
  for (;;) {
    const call = { id: callId, name: tool.name, args: input };
    const decision = readDecision(interrupt(confirmationRequest(call, question, problem)));
    switch (decision.kind) {
      case "reject":
        return refused(decision.message);
      case "approve": {
        const now = await recheck(tool, input, question, config);
        if (now.kind !== "ask") return now;
        question = now.asked;
        problem = "What this call would do has changed since you were asked; your answer was not used.";
        break;
      }
      case "edit": {
        const edited = prepareCall(tool, decision.args);
        if (edited.kind === "ready") return approveEdit(tool, edited.input, config);
        problem = edited.result.message;
        break;
      }
      case "unclear":
        problem = decision.problem;
        break;
    }
  }
}

function refused(message: string | undefined): Outcome {
  const reason = message === undefined ? "" : ` They said: ${message}`;
  return {
    kind: "refuse",
    code: "DENIED",
    errorType: "denied",
    reason: `The user refused this call.${reason} Acknowledge it and do not repeat the call.`,
  };
}

/** Rechecks an approved call: runs it if its effect is unchanged, else asks again. */
function recheck(
  tool: Tool,
  input: Record<string, unknown>,
  question: ApprovalQuestion,
  config: LangGraphRunnableConfig,
): Promise<CallRuling> {
  return storedRuling(async () => {
    const { hash } = await inspectRequestedCall(tool, input, config);
    return hash === question.hash ? { kind: "run", approved: hash } : decideInput(tool, input, config);
  });
}

/** An edit approves the edited call; a rule that denies it still applies. */
async function approveEdit(
  tool: Tool,
  edited: Record<string, unknown>,
  config: LangGraphRunnableConfig,
): Promise<Outcome> {
  const ruling = await storedRuling(() => decideInput(tool, edited, config));
  switch (ruling.kind) {
    case "ask":
      return { kind: "run", edited, approved: ruling.asked.hash };
    case "run":
      return { ...ruling, edited };
    default:
      return ruling;
  }
}

/**
 * Stores a ruling made after an answer with the task: a later resume must reach the same questions in the same order,
 * else an answer would match the wrong question.
 */
async function storedRuling(look: () => Promise<CallRuling>): Promise<CallRuling> {
  return await task("look_again", look)();
}
