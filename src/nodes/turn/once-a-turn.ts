import { isHumanMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { LRUCache } from "lru-cache";
import { sessionIdOf } from "../../loop/services.ts";
import type { GraphState } from "../../state.ts";

/** Turns whose values are remembered; the one longest unused is forgotten first. */
const turnsRemembered = 50;

/** Gives what `make` makes, or what it has made before in the same turn. A failure is not remembered. */
export type OnceATurn<Value> = (
  state: Pick<GraphState, "messages">,
  config: LangGraphRunnableConfig,
  make: () => Promise<Value>,
) => Promise<Value>;

/** What is worked out once in a turn: the system text stays the same, also over a question in the middle of it. */
export function onceATurn<Value extends NonNullable<unknown>>(): OnceATurn<Value> {
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
