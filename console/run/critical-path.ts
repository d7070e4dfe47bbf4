import { childrenOf, momentOf, type Span } from "./spans.ts";

/**
 * The parts of a run that it waited for, one after the other: of what went on at once, what ended last. To make it faster,
 * one of these has to become shorter.
 */
export function criticalPath(spans: ReadonlyMap<string, Span>, now: number): ReadonlySet<string> {
  const children = childrenOf(spans);
  const endOf = ({ end }: Span): number => end ?? now;
  const path = new Set<string>();
  const waiting: (string | null)[] = [null];
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    let reached = Infinity;
    // A retry is a moment, which has no end to wait for.
    const inside = (children.get(parent) ?? []).filter(({ kind, start }) => start !== null && kind !== "retry");
    for (const span of inside.toSorted((one, other) => endOf(other) - endOf(one))) {
      if (endOf(span) > reached) continue;
      path.add(span.id);
      waiting.push(span.id);
      reached = span.start ?? reached;
    }
  }
  return path;
}

/** The model calls of a run by their number, from 1 in the order in which they began; none where there is only one. */
export function modelCallNumbers(spans: ReadonlyMap<string, Span>): ReadonlyMap<string, number> {
  const calls = [...childrenOf(spans).values()].flat().filter(({ kind }) => kind === "model");
  if (calls.length < 2) return new Map();
  const inOrder = calls.toSorted((one, other) => momentOf(one) - momentOf(other));
  return new Map(inOrder.map(({ id }, index) => [id, index + 1]));
}

/** What the model calls in a part of a run have used. */
export interface Used {
  tokens: number;
  /** `null`: no price is known. */
  cost: number | null;
}

/** What each part of a run has used with all that lies in it; parts without a model call are not there. */
export function usedBy(spans: ReadonlyMap<string, Span>): ReadonlyMap<string, Used> {
  const used = new Map<string, Used>();
  for (const call of spans.values()) {
    if (call.kind !== "model" || call.usage === null) continue;
    const tokens = call.usage.input_tokens + call.usage.output_tokens;
    const passed = new Set<string>();
    for (let at: Span | undefined = call; at !== undefined && !passed.has(at.id); at = spans.get(at.parent ?? "")) {
      passed.add(at.id);
      const { tokens: before, cost } = used.get(at.id) ?? { tokens: 0, cost: null };
      used.set(at.id, { tokens: before + tokens, cost: call.cost === null ? cost : (cost ?? 0) + call.cost });
    }
  }
  return used;
}
