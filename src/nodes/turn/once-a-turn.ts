import { isHumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { LRUCache } from "lru-cache";
import { sessionIdOf } from "../../loop/services.ts";
import type { GraphState } from "../../state.ts";

/** Turns kept in the cache, least recently used dropped first. */
const turnsRemembered = 50;

/** Returns the value made earlier in the same turn, else calls `make`. Failures are not cached. */
export type OnceATurn<Value> = (
  state: Pick<GraphState, "messages">,
  config: LangGraphRunnableConfig,
  make: () => Promise<Value>,
) => Promise<Value>;

/** Computes a value once per turn, so that the system text stays the same even across a question. */
export function cachedPerTurn<Value extends NonNullable<unknown>>(): OnceATurn<Value> {
  const remembered = new LRUCache<string, Value>({ max: turnsRemembered });
  return async ({ messages }, config, make) => {
    const request = messages.findLast(isHumanMessage)?.id;
    const key = `${sessionIdOf(config)}/${request}`;
    const known = remembered.get(key);
    if (known !== undefined) return known;
    const made = await make();
    if (request === undefined) return made;
    remembered.set(key, made);
    return made;
  };
}
