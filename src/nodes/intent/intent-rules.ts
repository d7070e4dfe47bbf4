import type { DecompositionLimits, Intent, Route } from "../../state.ts";
import {
  bareTopics,
  dropsTheWork,
  extents,
  goalVerbs,
  impliedNeeds,
  joining,
  namedFile,
  pleasantries,
  priority,
  toolVerbs,
  vagueRequests,
} from "./intent-words.ts";

/** What a request wants, where it goes, and why. */
export interface ReadIntent extends Intent {
  route: Route;
  reason: string;
}

/** What the rules know beside the words of a request. */
export interface IntentSetting {
  limits: DecompositionLimits;
  /** Something before or beside this message may say what it is about. */
  hasContext: boolean;
}

/**
 * What a message wants by rules alone, or `undefined` when only a model can tell: when the message joins tasks in words
 * that the rules do not know. No question is kept from the tools: whether it needs one, only the model can tell. Pure;
 * checked by table.
 */
export function intentByRules(text: string, setting: IntentSetting): ReadIntent | undefined {
  const details = {
    extent: extentOf(text),
    priorities: [...text.matchAll(priority)].map(([, what = ""]) => what.trim()),
    implicit_needs: impliedNeeds.filter(({ when }) => when.test(text)).map(({ need }) => need),
  };
  const found = kindOf(text, setting);
  return found && { ...details, ...found };
}

function kindOf(text: string, setting: IntentSetting): Pick<ReadIntent, "kind" | "route" | "reason"> | undefined {
  const { limits } = setting;
  if (pleasantries.test(text)) return { kind: "emotional", route: "reply", reason: "greeting or thanks" };
  if (dropsTheWork.test(text)) return { kind: "emotional", route: "reply", reason: "the user drops what was asked" };
  if (isUnclear(text, setting)) {
    return { kind: "unclear", route: "free_work", reason: "names nothing, and nothing before it does" };
  }
  if (text.length > limits.max_characters) {
    return { kind: "action", route: "plan", reason: `longer than ${limits.max_characters} characters` };
  }
  const goals = goalVerbs.filter((verb) => verb.test(text)).length;
  const tools = toolVerbs.filter((verb) => verb.test(text)).length;
  if (goals >= 2) return { kind: "multi_intent", route: "plan", reason: "several goals in one message" };
  if (tools >= 2 || (tools + goals >= 2 && joining.test(text))) {
    return { kind: "multi_intent", route: "plan", reason: "needs more than one tool" };
  }
  const calls = estimatedCalls(text, tools + goals);
  if (calls > limits.max_estimated_calls) {
    return { kind: "action", route: "plan", reason: `about ${calls} tool calls` };
  }
  if (tools + goals === 0 && joining.test(text)) return undefined;
  return { kind: tools + goals === 0 ? "information" : "action", route: "free_work", reason: "one request" };
}

/** Characters beyond which a message says something, whatever it is. */
const longestVague = 80;

/** A request without any object, where nothing else says what it is about: rare by intention. */
function isUnclear(text: string, { hasContext }: IntentSetting): boolean {
  return (
    !hasContext &&
    text.length <= longestVague &&
    vagueRequests.some((form) => form.test(text)) &&
    !bareTopics.test(text)
  );
}

/** What a request is likely to cost, in tool calls: each thing it wants done, for each file that it names. */
export function estimatedCalls(text: string, wishes: number): number {
  const files = new Set([...text.matchAll(namedFile)].map(([name]) => name.toLowerCase())).size;
  return Math.max(1, wishes) * Math.max(1, files);
}

function extentOf(text: string): Intent["extent"] {
  return extents.find(({ words }) => words.test(text))?.extent ?? "full";
}
