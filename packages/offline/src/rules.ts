import { goal, type Action } from "./actions.ts";
import { callId, summarizeConversation, type Conversation } from "./conversation.ts";
import { parseRequests } from "./parse.ts";
import { report, type Ended } from "./report.ts";
import { advance, type ActionContext } from "./steps.ts";
import { smallTalk } from "./talk.ts";
import { say } from "./text.ts";

/** A tool offered with the call. */
export interface OfferedTool {
  name: string;
  parameters: string[];
}

/** A tool call of the reply. */
export interface ReplyCall {
  id: string;
  name: string;
  args: Record<string, unknown>;
}

/** The model's next output: text or calls. */
export type Reply = { kind: "text"; text: string } | { kind: "calls"; calls: ReplyCall[] };

/**
 * The next reply: the calls the request still needs, then a report. Only `offered` tools are called; `forced` is a tool
 * the caller requires.
 */
export function reply(
  conversation: Conversation,
  offered: OfferedTool[],
  forced: string | undefined,
  today: string,
): Reply {
  const { purpose, language, request, rounds } = conversation;
  if (purpose === "compress") return { kind: "text", text: summarizeConversation(conversation) };
  const actions = parseRequests(request, today);
  const work = lookAt(actions, conversation, offered, today);
  if (purpose === "talk") {
    const wanted = forced === undefined ? work.calls : work.calls.filter((call) => call.name === forced);
    if (wanted.length > 0) return { kind: "calls", calls: wanted };
    const call = forced === undefined || rounds > 0 ? undefined : forcedCall(forced, request, offered);
    if (call !== undefined) return { kind: "calls", calls: [call] };
  }
  if (actions.length > 0) return { kind: "text", text: report(work.ended, work.left, language) };
  if (rounds > 0) return { kind: "text", text: say(language, "That is done.", "已完成。") };
  return { kind: "text", text: smallTalk(request, language) };
}

/** The next calls of the first open action, the outcomes of earlier ones, and the rest. */
function lookAt(
  actions: Action[],
  conversation: Conversation,
  offered: OfferedTool[],
  today: string,
): { calls: ReplyCall[]; ended: Ended[]; left: string[] } {
  const { byStep, language } = conversation;
  const calls: ReplyCall[] = [];
  const ended: Ended[] = [];
  const open: Action[] = [];
  for (const [index, action] of actions.entries()) {
    const desk: ActionContext = {
      result: (step) => byStep.get(`${index}.${step}`),
      isOffered: (tool) => offered.some((candidate) => candidate.name === tool),
      language,
      today,
    };
    const progress = advance(action, desk);
    if (progress.kind === "ended") {
      ended.push({ action, outcome: progress.outcome });
      continue;
    }
    if (open.length === 0) {
      calls.push(...progress.calls.map(({ step, name, args }) => ({ id: callId(index, step), name, args })));
    }
    open.push(action);
  }
  return { calls, ended, left: open.map((action) => goal(action, language)) };
}

/** A call of a forced tool the rules would not choose: the request becomes its first parameter. */
function forcedCall(name: string, request: string, offered: OfferedTool[]): ReplyCall | undefined {
  const tool = offered.find((candidate) => candidate.name === name);
  if (tool === undefined) return undefined;
  const [parameter] = tool.parameters;
  return { id: callId(0, 0), name, args: parameter === undefined ? {} : { [parameter]: request } };
}
