import { canonicalJson } from "../tools/runtime/canonical-json.ts";
import { plainPath, type CallInTurn, type PastCall } from "./turn.ts";

/** A change's subject and its state afterwards, as texts for comparison. */
export interface StateAfter {
  subject: string;
  state: string;
}

const remembered = new WeakMap<Record<string, unknown>, StateAfter | null>();

/**
 * The state after a change; `null` for calls that change nothing, failed, did not run, or whose name does not say that
 * they create, delete or set something (a command may do anything).
 */
export function stateAfter(call: CallInTurn & Pick<PastCall, "outcome">): StateAfter | null {
  if (!call.changes || call.outcome === "failed" || call.outcome === "open") return null;
  const known = remembered.get(call.args);
  if (known !== undefined) return known;
  const after = moved(call.args) ?? (call.path === null ? ofThing(call) : ofPath(call, call.path));
  remembered.set(call.args, after);
  return after;
}

const making = /^(create|add|make|mkdir|new|open|start|enable|lock|insert|write)/i;
const unmaking = /^(delete|remove|rm|rmdir|close|stop|disable|unlock|drop|clear)/i;
const setting = /^(set|update|change|switch|toggle|put|patch|edit|replace|modify)/i;
const content = /^(content|contents|text|body|new_content|new_text|new_string|replace|replacement|value)$/i;
const identity = /(^|_)(id|uuid|name|key)$/i;

/** A move concerns both paths, so that moving back is recognized. */
function moved(args: Record<string, unknown>): StateAfter | null {
  const from = args["source"] ?? args["from"] ?? args["path"];
  if (typeof from !== "string") return null;
  const to = args["destination"] ?? args["to"] ?? beside(from, args["new_name"]);
  if (typeof to !== "string") return null;
  const places = [plainPath(from), plainPath(to)];
  return { subject: places.toSorted().join(" and "), state: plainPath(to) };
}

function beside(path: string, name: unknown): string | undefined {
  if (typeof name !== "string") return undefined;
  return [...plainPath(path).split("/").slice(0, -1), name].join("/");
}

function ofPath({ tool, args }: CallInTurn, path: string): StateAfter | null {
  if (unmaking.test(tool)) return { subject: path, state: "gone" };
  const written = Object.entries(args).find(([name, value]) => content.test(name) && typeof value === "string");
  if (written !== undefined) return { subject: path, state: `holds ${String(written[1])}` };
  return making.test(tool) || setting.test(tool) ? { subject: path, state: rest(args, /path|file/iu) } : null;
}

/** Without a path the subject is the tool's noun and the naming argument; ids differ after each deletion. */
function ofThing({ tool, args }: CallInTurn): StateAfter | null {
  const words = tool.split(/[_.-]/u);
  if (unmaking.test(tool)) return { subject: noun(words), state: "gone" };
  if (making.test(tool)) return { subject: noun(words), state: rest(args, /^$/u) };
  if (!setting.test(tool)) return null;
  const named = Object.entries(args).filter(([name]) => identity.test(name));
  return { subject: `${tool} ${canonicalJson(Object.fromEntries(named))}`, state: rest(args, identity) };
}

function noun(words: string[]): string {
  return words.length > 1 ? words.slice(1).join("_") : words.join("_");
}

function rest(args: Record<string, unknown>, without: RegExp): string {
  return canonicalJson(Object.fromEntries(Object.entries(args).filter(([name]) => !without.test(name))));
}
