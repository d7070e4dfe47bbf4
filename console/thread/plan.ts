import * as z from "zod/mini";
import type { Call, Item, ThreadState } from "./items.ts";

/** The tool by which an assistant writes its plan down, each time as a whole. LangChain's agents call it the same. */
export const planTool = "write_todos";

const Todos = z.object({ todos: z.array(z.object({ content: z.string(), status: z.string() })) });

/** A step of a plan. */
interface PlanStep {
  text: string;
  state: "pending" | "running" | "done";
}

const states: Readonly<Record<string, PlanStep["state"]>> = { in_progress: "running", completed: "done" };

/** The plan that a call writes down; `undefined` of any other call, and while its arguments come. */
export function stepsOf({ name, args, status }: Call): readonly PlanStep[] | undefined {
  if (name !== planTool || status === "failed" || status === "refused") return undefined;
  const read = z.safeParse(Todos, args).data;
  return read?.todos.map(({ content, status: said }) => ({ text: content, state: states[said] ?? "pending" }));
}

/** The plan by which the newest turn works. */
export function currentPlan({ order, items, calls }: ThreadState): readonly PlanStep[] | undefined {
  for (let at = order.length - 1; at >= 0; at -= 1) {
    const item = items.get(order[at] ?? "");
    if (item?.kind === "user") return undefined;
    const found = plansOf(item, calls).at(-1);
    if (found !== undefined) return stepsOf(found);
  }
  return undefined;
}

/** Whether the plan of a call was not written anew later in its turn. */
export function isNewestPlan({ order, items, calls }: ThreadState, callId: string): boolean {
  let isFollowed = false;
  for (let at = order.length - 1; at >= 0; at -= 1) {
    const item = items.get(order[at] ?? "");
    if (item?.kind === "user") isFollowed = false;
    for (const { id } of plansOf(item, calls).toReversed()) {
      if (id === callId) return !isFollowed;
      isFollowed = true;
    }
  }
  return true;
}

function plansOf(item: Item | undefined, calls: ThreadState["calls"]): Call[] {
  if (item?.kind !== "assistant") return [];
  return item.blocks
    .flatMap((block) => (block.kind === "call" ? (calls.get(block.callId) ?? []) : []))
    .filter((call) => stepsOf(call) !== undefined);
}
