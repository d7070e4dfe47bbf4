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

/** The intent of a request, its route, and the reason for the route. */
export interface ReadIntent extends Intent {
  route: Route;
  reason: string;
}

/**
 * The intent of a message by its words alone. Greetings, thanks and cancellations are answered directly, requests for a
 * plan go to `plan`; everything else goes to the loop, where the model decides what it needs. `hasContext`: something
 * else may say what the message is about, so it is not unclear. Pure.
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

/** Longer messages always count as clear. */
const maxVagueLength = 80;

/** A request that names no object; deliberately rare. */
function isUnclear(text: string): boolean {
  return text.length <= maxVagueLength && vagueRequests.some((form) => form.test(text)) && !bareTopics.test(text);
}
