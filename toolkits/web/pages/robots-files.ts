import { LRUCache } from "lru-cache";
import { AppError } from "@millrace/engine/errors/errors";
import { readWebAddress, type WebRules } from "@millrace/engine/net/checked-agent";
import { webGet } from "@millrace/engine/net/web-get";

/** Redirects, bytes and milliseconds of one file; of a longer one the rest does not count (RFC 9309, 2.3.1 and 2.5). */
const [redirects, limit, patience] = [5, 500 * 1024, 10_000];

/** Files that are kept, of all runs. */
const mostFiles = 200;

/**
 * The robots.txt of hosts, fetched once in each `run`. A host without the file allows everything. If it cannot be
 * fetched, nothing is allowed: the function throws the `AppError`s of `webGet`, `server`, or the signal's reason.
 */
export type RobotsFiles = (address: string, run: string, signal: AbortSignal) => Promise<RobotsRules>;

/** The files of hosts that these rules let us open. */
export function createRobotsFiles(rules: WebRules, within: number = patience): RobotsFiles {
  const known = new LRUCache<string, RobotsRules>({ max: mostFiles });
  return async (address, run, signal) => {
    const { origin } = readWebAddress(address, rules.allowed).url;
    const key = `${run} ${origin}`;
    const earlier = known.get(key);
    if (earlier !== undefined) return earlier;
    const read = await ask(origin, rules, within, signal);
    known.set(key, read);
    return read;
  };
}

async function ask(origin: string, rules: WebRules, within: number, signal: AbortSignal): Promise<RobotsRules> {
  const headers = { accept: "text/plain,*/*;q=0.1" };
  const wanted = { address: `${origin}/robots.txt`, headers, redirects, limit, isCut: true, within };
  const { status, body, url } = await webGet(wanted, rules, signal);
  if (status >= 200 && status <= 299) return readRobots(new TextDecoder().decode(body));
  if (status >= 300 && status <= 499) return readRobots("");
  throw new AppError("server", `${url.hostname} does not say what programs may read of it (robots.txt: ${status}).`, {
    suggestion: "Try again in a while, or open single pages that the user has named with web_fetch.",
  });
}

/** What a host lets programs read of it (RFC 9309). */
export interface RobotsRules {
  /** Whether the page at an address of the host may be read. */
  allows(address: URL): boolean;
}

/** A rule: the parts of its path between stars, in the form of `plainPath`; whether it ends the address; and how long it is. */
interface Rule {
  allows: boolean;
  parts: readonly string[];
  isAnchored: boolean;
  length: number;
}

/** This program's name in robots.txt. */
const ownName = "millrace";

/** The rules of a file for this program: its own groups where it has any, else those for all. Unknown lines are ignored. */
export function readRobots(text: string): RobotsRules {
  const named = rulesOf(text);
  const rules = named.get(ownName) ?? named.get("*") ?? [];
  return {
    allows({ pathname, search }) {
      const path = literal(plainPath(`${pathname}${search}`));
      if (path === "/robots.txt") return true;
      const best = rules.filter((rule) => fits(rule, path)).reduce<Rule | undefined>(longer, undefined);
      return best?.allows ?? true;
    },
  };
}

/** The more exact rule counts, and of two that are alike the one that allows. */
function longer(best: Rule | undefined, rule: Rule): Rule {
  if (best === undefined || rule.length > best.length) return rule;
  return rule.length === best.length && rule.allows ? rule : best;
}

/**
 * The rules of the names that can count here; groups of one name are one. However many names a file gives to a group,
 * and however often: each of its lines costs the same.
 */
function rulesOf(text: string): Map<string, Rule[]> {
  const groups = new Map<string, Rule[]>();
  const current = new Set<Rule[]>();
  let isNaming = false;
  for (const line of text.replace(/^\u{feff}/u, "").split(/\r\n|\r|\n/u)) {
    const [key = "", ...rest] = line.replace(/#.*$/u, "").split(":");
    const field = key.trim().toLowerCase();
    const value = rest.join(":").trim();
    switch (field) {
      case "user-agent": {
        if (!isNaming) current.clear();
        isNaming = true;
        const name = (value.split(/[/\s]/u)[0] ?? "").toLowerCase();
        if (name !== ownName && name !== "*") break;
        const rules = groups.get(name) ?? [];
        groups.set(name, rules);
        current.add(rules);
        break;
      }
      case "allow":
      case "disallow": {
        isNaming = false;
        // A rule without a path has no effect.
        if (value === "" || current.size === 0) break;
        const rule = ruleOf(value, field === "allow");
        for (const rules of current) rules.push(rule);
        break;
      }
    }
  }
  return groups;
}

function ruleOf(written: string, allows: boolean): Rule {
  const isAnchored = written.endsWith("$");
  const path = plainPath(isAnchored ? written.slice(0, -1) : written);
  return {
    allows,
    parts: path.replaceAll("$", "%24").split("*"),
    isAnchored,
    length: path.length + (isAnchored ? 1 : 0),
  };
}

/** Each part is looked for behind the one before; the first that is found is as good as any, so no way is tried twice. */
function fits({ parts, isAnchored }: Rule, path: string): boolean {
  const [first = "", ...others] = parts;
  if (!path.startsWith(first)) return false;
  const last = isAnchored ? others.pop() : undefined;
  let at = first.length;
  for (const part of others) {
    const found = path.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  if (!isAnchored) return true;
  return last === undefined ? at === path.length : path.length - last.length >= at && path.endsWith(last);
}

/** What is a sign in a rule stands for itself in an address. */
function literal(path: string): string {
  return path.replaceAll("*", "%2A").replaceAll("$", "%24");
}

/** A path in one form: what need not be escaped is not, all else is, in capitals. */
function plainPath(path: string): string {
  return path
    .replaceAll(/%([0-9a-f]{2})/giu, (escape, hex: string) => {
      const char = String.fromCharCode(Number.parseInt(hex, 16));
      return /[\w.~-]/u.test(char) ? char : escape.toUpperCase();
    })
    .toWellFormed()
    .replaceAll(/[^\x21-\x7e]+/gu, (text) => encodeURIComponent(text));
}
