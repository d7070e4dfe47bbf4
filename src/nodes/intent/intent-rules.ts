import type { Intent, Route } from "../../state.ts";
import {
  asksForPlan,
  bareTopics,
  dropsTheWork,
  extents,
  impliedNeeds,
  pleasantries,
  priority,
  vagueRequests,
  workVerbs,
} from "./intent-words.ts";

/** What a request wants, where it goes, and why. */
export interface ReadIntent extends Intent {
  route: Route;
  reason: string;
}

/**
 * What a message wants, by its words alone. Every request goes to the loop with its tools, where the model decides what it
 * needs, but for greetings and thanks, and for words that ask for a plan. `hasContext`: something before or beside this
 * message may say what it is about, so it is not unclear. Pure; checked by table.
 */
export function intentByRules(text: string, { hasContext }: { hasContext: boolean }): ReadIntent {
  return {
    extent: extents.find(({ words }) => words.test(text))?.extent ?? "full",
    priorities: [...text.matchAll(priority)].map(([, what = ""]) => what.trim()),
    implicit_needs: impliedNeeds.filter(({ when }) => when.test(text)).map(({ need }) => need),
    ...routeOf(text, hasContext),
  };
}

function routeOf(text: string, hasContext: boolean): Pick<ReadIntent, "kind" | "route" | "reason"> {
  if (pleasantries.test(text)) return { kind: "emotional", route: "reply", reason: "greeting or thanks" };
  if (dropsTheWork.test(text)) return { kind: "emotional", route: "reply", reason: "the user drops what was asked" };
  if (!hasContext && isUnclear(text)) {
    return { kind: "unclear", route: "free_work", reason: "names nothing, and nothing before it does" };
  }
  const wishes = workVerbs.filter((verb) => verb.test(text)).length;
  const kind = wishes === 0 ? "information" : wishes === 1 ? "action" : "multi_intent";
  if (asksForPlan.test(text)) return { kind, route: "plan", reason: "the user asks for a plan" };
  return { kind, route: "free_work", reason: "the model decides what the request needs" };
}

/** Characters beyond which a message says something, whatever it is. */
const longestVague = 80;

/** A request without any object: rare by intention. */
function isUnclear(text: string): boolean {
  return text.length <= longestVague && vagueRequests.some((form) => form.test(text)) && !bareTopics.test(text);
}
