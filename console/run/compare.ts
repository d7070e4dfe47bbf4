import * as z from "zod/mini";
import { nodePath, rowsOfTree, type Span } from "./spans.ts";

/** A part of a run that has its counterpart in another one: a node, an agent or a call. */
export interface Place {
  span: Span;
  depth: number;
  /** What it is and where; what has the same in another run stands at the same place. */
  key: string;
}

/** How the two of a pair differ: one is missing, or what became of it, what it was given, or what it said. */
export type Difference = "left" | "right" | "status" | "model" | "arguments" | "answer";

/** The same place of two runs, or a place of one of them. */
export interface Pair {
  left: Place | undefined;
  right: Place | undefined;
  difference: Difference | undefined;
}

/** What calls were given and have said, by their span, as far as that was read. */
export type Contents = ReadonlyMap<string, string>;

/** The places of a run in their order. */
export function placesOf(spans: ReadonlyMap<string, Span>): Place[] {
  const isPlace = ({ kind }: Span): boolean =>
    kind === "node" || kind === "agent" || kind === "model" || kind === "tool";
  return rowsOfTree(spans, () => false, isPlace).map(({ span, depth }) => {
    const { kind, name } = span;
    // Another model is a difference of the same place.
    const own = kind === "model" ? "" : name;
    return { span, depth, key: `${kind} ${nodePath(span, spans)} ${own}` };
  });
}

/** The places of two runs beside one another. */
export function pairsOf(left: readonly Place[], right: readonly Place[], contents: Contents): Pair[] {
  return aligned(
    left.map(({ key }) => key),
    right.map(({ key }) => key),
  ).map(([one, other]) => {
    const [before, after] = [one === undefined ? undefined : left[one], other === undefined ? undefined : right[other]];
    return { left: before, right: after, difference: differenceOf(before?.span, after?.span, contents) };
  });
}

function differenceOf(left: Span | undefined, right: Span | undefined, contents: Contents): Difference | undefined {
  if (left === undefined) return "right";
  if (right === undefined) return "left";
  if (left.status !== right.status) return "status";
  if (left.model !== right.model) return "model";
  const [one, other] = [contents.get(left.id), contents.get(right.id)];
  if (one === undefined || other === undefined || one === other) return undefined;
  return left.kind === "model" ? "answer" : "arguments";
}

/** Places of one run times those of the other up to which the longest common sequence is looked for. */
const maxCompared = 4_000_000;

/** The longest common sequence of two lists, with what stands between as steps of one list alone. */
export function aligned(
  left: readonly string[],
  right: readonly string[],
): [left: number | undefined, right: number | undefined][] {
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  const pairs: [number | undefined, number | undefined][] = Array.from({ length: start }, (_, at) => [at, at]);
  const [rows, columns] = [left.length - start, right.length - start];
  if (rows * columns > maxCompared) {
    for (let at = start; at < left.length; at += 1) pairs.push([at, undefined]);
    for (let at = start; at < right.length; at += 1) pairs.push([undefined, at]);
    return pairs;
  }
  const lengths = commonLengths(left.slice(start), right.slice(start));
  let [one, other] = [0, 0];
  while (one < rows || other < columns) {
    const isSame = one < rows && other < columns && left[start + one] === right[start + other];
    const takesLeft = isSame || lengths(one + 1, other) >= lengths(one, other + 1);
    const takesRight = isSame || !takesLeft;
    pairs.push([takesLeft ? start + one : undefined, takesRight ? start + other : undefined]);
    if (takesLeft) one += 1;
    if (takesRight) other += 1;
  }
  return pairs;
}

/** How long the longest common sequence is from a place of each list on; beyond the end of a list it is none. */
function commonLengths(left: readonly string[], right: readonly string[]): (one: number, other: number) => number {
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  const at = (one: number, other: number): number => lengths[one * width + other] ?? 0;
  for (let one = left.length - 1; one >= 0; one -= 1) {
    for (let other = right.length - 1; other >= 0; other -= 1) {
      lengths[one * width + other] =
        left[one] === right[other] ? at(one + 1, other + 1) + 1 : Math.max(at(one + 1, other), at(one, other + 1));
    }
  }
  return (one, other) => (one > left.length || other > right.length ? -1 : at(one, other));
}

const Reply = z.object({
  content: z.unknown(),
  tool_calls: z.optional(z.array(z.object({ name: z.string(), args: z.unknown() }))),
});

/** What a reply says and calls, without its ids and numbers; what is no reply stays as it is. */
export function saidIn(payload: string): string {
  try {
    const reply = z.safeParse(Reply, JSON.parse(payload));
    return reply.success ? JSON.stringify(reply.data) : payload;
  } catch {
    return payload;
  }
}

/** The thread and the run that a part of an address names. */
export function runNamed(text: string | null): { threadId: string; runId: string } | undefined {
  const [threadId, runId, ...rest] = text?.split("/") ?? [];
  return threadId && runId && rest.length === 0 ? { threadId, runId } : undefined;
}
