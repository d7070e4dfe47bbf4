import { hash } from "node:crypto";
import { canonicalJson } from "../tools/runtime/canonical-json.ts";
import { plainPath, type CallInTurn, type PastCall } from "./turn.ts";

/** Arguments up to this length are compared as they are; longer ones by hash. */
const maxTextLength = 200;

/** Cached: arguments do not change once they are in a message. */
function remembered(
  work: (args: Record<string, unknown>) => unknown,
): (call: Pick<CallInTurn, "tool" | "args">) => string {
  const known = new WeakMap<Record<string, unknown>, { tool: string; key: string }>();
  return ({ tool, args }) => {
    const earlier = known.get(args);
    if (earlier?.tool === tool) return earlier.key;
    const text = canonicalJson(work(args));
    const key = `${tool} ${text.length > maxTextLength ? hash("sha256", text, "base64url") : text}`;
    known.set(args, { tool, key });
    return key;
  };
}

/** Key of equal calls: the tool and a hash of its canonical arguments. */
export const callKey = remembered((args) => args);

const plainKey = remembered((args) => plainArguments(args, false));
const plainKeyWithoutDials = remembered((args) => plainArguments(args, true));

/**
 * Key of similar calls: ignores case, whitespace, punctuation at the ends, order of words and lists and, for calls that
 * change nothing, amounts. Numbers that say *which* (page, line, id) count.
 */
export function similarKey(call: Pick<CallInTurn, "tool" | "args" | "changes">): string {
  return call.changes ? plainKey(call) : plainKeyWithoutDials(call);
}

/** Parameters that say how much or how long, not which. */
const dials =
  /^(limit|max|max_\w+|count|top|top_k|k|n|depth|page_size|per_page|size|timeout\w*|context|context_lines)$/i;
/** Longer texts are contents, whose word order matters. */
const maxQueryLength = 200;

function plainArguments(value: unknown, withoutDials: boolean): unknown {
  if (typeof value === "string") return plainString(value);
  if (Array.isArray(value)) {
    return value.map((item) => canonicalJson(plainArguments(item, withoutDials))).toSorted();
  }
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name, item]) => {
    if (item === null || item === "") return false;
    return !(withoutDials && typeof item === "number" && dials.test(name));
  });
  return Object.fromEntries(kept.map(([name, item]) => [name, plainArguments(item, withoutDials)]));
}

function plainString(text: string): string {
  const plain = text.trim().toLowerCase();
  if (plain.length > maxQueryLength) return plain.replaceAll(/\s+/gu, " ");
  if (plain.includes("/")) return plainPath(plain);
  const words = plain
    .split(/\s+/u)
    .map((word) => word.replaceAll(/^["'`“”‘’,;:!?。，！？]+|["'`“”‘’.,;:!?。，！？]+$/gu, ""));
  return words
    .filter((word) => word !== "")
    .toSorted()
    .join(" ");
}

/** Ids and times, which differ between equal calls. */
const passing =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?Z?|\b\d{1,2}:\d{2}:\d{2}\b|\b\d+(?:\.\d+)? ?ms\b/giu;

/** Whether two results are equal except for ids and times. */
export function sameResult(one: PastCall, other: PastCall): boolean {
  if (one.outcome !== other.outcome) return false;
  return one.result === other.result || lastingText(one) === lastingText(other);
}

const lastingTexts = new WeakMap<PastCall, string>();

function lastingText(call: PastCall): string {
  const text = lastingTexts.get(call) ?? call.result.replaceAll(passing, "#").trim();
  lastingTexts.set(call, text);
  return text;
}
