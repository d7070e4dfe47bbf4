import { isIP, type LookupFunction } from "node:net";
import type { Agent, buildConnector } from "undici";
import { findAddresses, resolveHost, type FindAddresses } from "./resolve-host.ts";
import type { WebAddress } from "./web-address.ts";

/** What stands around every request to the web. */
export interface WebRules {
  /** Hosts, or `host:port`, that the operator has named: they may be in a private network. */
  allowed: readonly string[];
  /** How names and connections are found; by itself, as this machine does it. */
  find?: FindAddresses | undefined;
  connectTo?: ((addresses: readonly string[]) => buildConnector.connector) | undefined;
}

/**
 * An agent that connects to addresses of the host which were checked, and to nothing else: the name is not resolved
 * again, so it cannot mean another machine by now. Whoever opens one destroys it. Throws as `resolveHost` does.
 */
export async function openAgent(
  place: WebAddress,
  { find = findAddresses, connectTo }: WebRules,
  options: Pick<Agent.Options, "maxResponseSize">,
  signal: AbortSignal,
): Promise<Agent> {
  const addresses = await resolveHost(place, find, signal);
  // Loaded with the first request: most servers never ask the web.
  const undici = await import("undici");
  const connect: buildConnector.connector | buildConnector.BuildOptions = connectTo?.(addresses) ?? {
    lookup: lookupOf(addresses),
    autoSelectFamily: true,
  };
  return new undici.Agent({ ...options, connect });
}

function lookupOf(addresses: readonly string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: isIP(address) }));
  return (name, { all }, answer) => {
    const [first] = known;
    if (first === undefined) answer(new Error(`${name} has no address`), "");
    else if (all === true) answer(null, known);
    else answer(null, first.address, first.family);
  };
}
