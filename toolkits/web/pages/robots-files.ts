import { LRUCache } from "lru-cache";
import { AppError } from "@millrace/engine/errors/errors";
import { readWebAddress, type WebRules } from "@millrace/engine/net/checked-agent";
import { webGet } from "@millrace/engine/net/web-get";

/**
 * Maximum redirects, bytes and milliseconds per file; the rest of a longer one is ignored (RFC 9309, 2.3.1 and 2.5).
 */
const [redirects, limit, patience] = [5, 500 * 1024, 10_000];

/** Maximum files cached over all runs. */
const maxFiles = 200;

/**
 * The robots.txt of hosts, fetched once in each `run`. A host without the file allows everything. If it cannot be
 * fetched, nothing is allowed: the function throws the `AppError`s of `webGet`, `server`, or the signal's reason.
 */
export type RobotsFiles = (address: string, run: string, signal: AbortSignal) => Promise<RobotsRules>;

/** Creates the reader with the rules for web requests. */
export function createRobotsFiles(rules: WebRules, within: number = patience): RobotsFiles {
  const known = new LRUCache<string, RobotsRules>({ max: maxFiles });
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

/** A host's rules for crawlers (RFC 9309). */
export interface RobotsRules {
  /** Whether a page of the host may be read. */
  allows(address: URL): boolean;
}

/**
 * A rule: its path split at the stars and normalised by `plainPath`; whether it is anchored at the end; and its length.
 */
interface Rule {
  allows: boolean;
  parts: readonly string[];
  isAnchored: boolean;
  length: number;
}

/** This program's name in robots.txt. */
const ownName = "millrace";

/** A file's rules for this program: its own groups if there are any, else those for all. Unknown lines are ignored. */
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

/** The longer rule wins; between equals the one that allows. */
function longer(best: Rule | undefined, rule: Rule): Rule {
  if (best === undefined || rule.length > best.length) return rule;
  return rule.length === best.length && rule.allows ? rule : best;
}

/**
 * The rules by relevant agent name; groups of one name are merged. However many names and groups a file has, each line
 * costs the same.
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

/** Each part is searched after the previous one; the first match is as good as any, so there is no backtracking. */
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

/** A rule's special characters are literal in a URL. */
function literal(path: string): string {
  return path.replaceAll("*", "%2A").replaceAll("$", "%24");
}

/** Normalises a path: unnecessary escapes are decoded, all others upper case. */
function plainPath(path: string): string {
  return path
    .replaceAll(/%([0-9a-f]{2})/giu, (escape, hex: string) => {
      const char = String.fromCharCode(Number.parseInt(hex, 16));
      return /[\w.~-]/u.test(char) ? char : escape.toUpperCase();
    })
    .toWellFormed()
    .replaceAll(/[^\x21-\x7e]+/gu, (text) => encodeURIComponent(text));
}
