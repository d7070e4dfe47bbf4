import { areIndependent } from "./actions.ts";
import { callId, type Conversation } from "./conversation.ts";
import { parseRequests, type Request } from "./parse.ts";
import { goal, report } from "./report.ts";
import { advance, type Desk, type NeededCall, type Outcome } from "./steps.ts";
import { smallTalk } from "./talk.ts";
import { answerTask } from "./tasks.ts";

/** A tool as it was offered with the call. */
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

/** What the model says next: words, or calls. */
export type Reply = { kind: "text"; text: string } | { kind: "calls"; calls: ReplyCall[] };

/** Calls in one reply, and replies with calls before the answer; both below the loop's own limits. */
const [maxCalls, maxRounds] = [5, 12];

/**
 * The reply to a conversation: what the request still needs, by the results so far; then a report of them. Only tools
 * in `offered` are called; `forced` is a tool the caller wants now.
 */
export function reply(
  conversation: Conversation,
  offered: OfferedTool[],
  forced: string | undefined,
  today: string,
): Reply {
  const { purpose, language, request } = conversation;
  if (purpose !== "talk") return { kind: "text", text: answerTask(conversation) };
  const requests = parseRequests(request, today);
  const work = lookAt(requests, conversation, offered, today);
  const wanted = forced === undefined ? work.calls : work.calls.filter((call) => call.name === forced);
  if (wanted.length > 0 && conversation.rounds < maxRounds) return { kind: "calls", calls: wanted.slice(0, maxCalls) };
  if (forced !== undefined && conversation.exchanges.length === 0) {
    const call = forcedCall(forced, request, offered);
    if (call !== undefined) return { kind: "calls", calls: [call] };
  }
  if (requests.length === 0) {
    const text =
      conversation.exchanges.length > 0 ? answerTask(conversation) : smallTalk(request, offered.length > 0, language);
    return { kind: "text", text };
  }
  return { kind: "text", text: report(work.outcomes, work.left, language) };
}

/** What the actions need next, how those that are through ended, and which are not. */
function lookAt(
  requests: Request[],
  conversation: Conversation,
  offered: OfferedTool[],
  today: string,
): { calls: ReplyCall[]; outcomes: Outcome[]; left: string[] } {
  const calls: ReplyCall[] = [];
  const outcomes: Outcome[] = [];
  const open: Request[] = [];
  for (const [index, request] of requests.entries()) {
    const desk: Desk = {
      result: (step) => conversation.byStep.get(`${index}.${step}`),
      parameters: (tool) => offered.find((candidate) => candidate.name === tool)?.parameters,
      language: conversation.language,
      today,
    };
    const progress = advance(request.action, desk);
    if (progress.kind === "ended") {
      outcomes.push(progress.outcome);
      continue;
    }
    const mayStart =
      open.length === 0 || (!request.waits && open.every((other) => areIndependent(other.action, request.action)));
    if (mayStart && calls.length < maxCalls) calls.push(...progress.calls.map((call) => toCall(index, call)));
    open.push(request);
  }
  return { calls, outcomes, left: open.map((request) => goal(request.action, conversation.language)) };
}

function toCall(action: number, call: NeededCall): ReplyCall {
  return { id: callId(action, call.step), name: call.name, args: call.args };
}

/** A tool the caller insists on, though the rules would not choose it: the request goes into its first parameter. */
function forcedCall(name: string, request: string, offered: OfferedTool[]): ReplyCall | undefined {
  const tool = offered.find((candidate) => candidate.name === name);
  if (tool === undefined) return undefined;
  const [parameter] = tool.parameters;
  const isPlace = parameter === "path" && /^(?:list_files|search_content)$/u.test(name);
  return { id: callId(0, 0), name, args: parameter === undefined || isPlace ? {} : { [parameter]: request } };
}
