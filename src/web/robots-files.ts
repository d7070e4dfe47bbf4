import { LRUCache } from "lru-cache";
import { AppError } from "@millrace/engine/errors/errors";
import { readRobots, type RobotsRules } from "./read-robots.ts";
import { readWebAddress } from "@millrace/engine/net/web-address";
import { webGet, type WebRules } from "@millrace/engine/net/web-get";

/** Redirects, bytes and milliseconds of one file; of a longer one the rest does not count (RFC 9309, 2.3.1 and 2.5). */
const [redirects, limit, patience] = [5, 500 * 1024, 10_000];

/** Files that are kept, of all runs. */
const mostFiles = 200;

/**
 * What hosts let programs read of them, asked once in each `run`. A host that has no such file allows everything; one that
 * cannot be asked allows nothing, which is told by what is thrown: AppErrors of `webGet` and `server`, and the signal's reason.
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
