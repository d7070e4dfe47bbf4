import { BlockList, isIP, type LookupFunction } from "node:net";
import type { Agent, buildConnector } from "undici";
import { lookup } from "node:dns";
import { Resolver } from "node:dns/promises";
import { AppError } from "../errors/errors.ts";
import ipaddr from "ipaddr.js";

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
 * again, so it cannot mean another machine by now. The caller destroys it. Throws as `resolveHost` does.
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

/** Finds the addresses of a name. `isNamed`: the operator has named the host, so it may be one that only this machine knows. */
type FindAddresses = (name: string, isNamed: boolean, signal: AbortSignal) => Promise<string[]>;

/**
 * The addresses of a host, every one of them checked; a name that has one that is not public is refused as a whole,
 * since the system chooses which one is used. Throws `blocked`, and `network` for a name that has none.
 */
async function resolveHost(
  { host, isNamed }: Pick<WebAddress, "host" | "isNamed">,
  find: FindAddresses,
  signal: AbortSignal,
): Promise<string[]> {
  const addresses = isIP(host) === 0 ? await find(host, isNamed, signal) : [host];
  if (addresses.length === 0) {
    throw new AppError("network", `The host ${host} was not found.`, { suggestion: "Check the address." });
  }
  const isOpen = (address: string): boolean =>
    isNamed ? isIP(address) !== 0 && !isLinkOrMetadata(address) : isPublicAddress(address);
  if (!addresses.every(isOpen)) throw notPublic(host);
  return addresses;
}

/**
 * Asks the name servers of this machine for a public name, and the machine itself for one that the operator has named.
 * A name server that is slow keeps no thread of the process, as the machine's own way would.
 */
const findAddresses: FindAddresses = async (name, isNamed, signal) => {
  signal.throwIfAborted();
  if (isNamed) return await askMachine(name);
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  const stop = (): void => resolver.cancel();
  signal.addEventListener("abort", stop, { once: true });
  try {
    const found = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    signal.throwIfAborted();
    return found.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
  } finally {
    signal.removeEventListener("abort", stop);
  }
};

async function askMachine(name: string): Promise<string[]> {
  const { promise, resolve } = Promise.withResolvers<string[]>();
  lookup(name, { all: true, verbatim: true }, (error, found) => {
    resolve(error === null ? found.map(({ address }) => address) : []);
  });
  return await promise;
}

/** The part of IPv6 that is given out; ipaddr.js takes the rest for public, too. */
const givenOut = ipaddr.parseCIDR("2000::/3");
/** In it: the former test network, which the registry of special addresses no longer names. */
const formerTests = ipaddr.parseCIDR("3ffe::/16");
/** In the public internet, but there a cloud tells its machines their secrets. */
const azure = "168.63.129.16";

/**
 * Whether an address (an IP, as `net.isIP` knows it) is one of the public internet: none of a private network, of a
 * tunnel, of IPv4 inside of IPv6, or of another special range. Whatever is no address, or has a zone, is not.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes("%") || address === azure) return false;
  const read = ipaddr.parse(address);
  if (read.range() !== "unicast") return false;
  return read.kind() === "ipv4" || (read.match(givenOut) && !read.match(formerTests));
}

/** Where clouds keep the secrets of their machines, and what only this link knows. */
const neverReached = new BlockList();
neverReached.addSubnet("169.254.0.0", 16, "ipv4");
neverReached.addAddress("0.0.0.0", "ipv4");
neverReached.addAddress("100.100.100.200", "ipv4");
neverReached.addAddress("168.63.129.16", "ipv4");
neverReached.addSubnet("fe80::", 10, "ipv6");
neverReached.addAddress("fd00:ec2::254", "ipv6");
neverReached.addAddress("::", "ipv6");

/**
 * Whether an address (an IP) is one that nothing has to reach, not even where the operator has named its host:
 * link-local ones and metadata services. IPv4 inside of IPv6 counts as what it is.
 */
export function isLinkOrMetadata(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && neverReached.check(address, version === 4 ? "ipv4" : "ipv6");
}

/** Names that mean this machine, its network or a cloud's metadata, whatever they come to mean in the end. */
const closedNames =
  /^(?:[^.]*|.*\.(?:localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa|onion)|metadata\.goog)\.?$/iu;

/** Whether a host name (no address) may be one of the public internet: it has a dot, and no ending of private networks. */
function isPublicName(name: string): boolean {
  return !closedNames.test(name);
}

/** Below these only the two of the web: nothing that speaks mail, or another protocol, is sent a request. */
const [firstFreePort, webPorts] = [1024, new Set([80, 443])];

/** Where a request goes: the address, what of it is connected to, and whether the operator has named the host. */
export interface WebAddress {
  url: URL;
  /** A name, or an IP without brackets. */
  host: string;
  port: number;
  isNamed: boolean;
}

/**
 * Reads an address and checks all of it that can be checked before anybody is asked for the host: only http(s), no name
 * and password, a port of the web, no host that is of this machine or a private network, however it is written.
 * `allowed` are hosts, or `host:port`, that the operator has named. Throws `invalid_parameter`, or `blocked`.
 */
export function readWebAddress(text: string, allowed: readonly string[]): WebAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new AppError("invalid_parameter", `"${text.slice(0, 200)}" is no address of a web page.`, {
      suggestion: "Give a whole address that begins with http:// or https://.",
    });
  }
  if (url.username !== "" || url.password !== "") {
    throw new AppError("blocked", "Addresses with a user name or a password are not opened.", {
      suggestion: "Give the address without what stands before the @.",
    });
  }
  const host = url.hostname.replace(/^\[|\]$/gu, "");
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const isNamed = isAllowed(host, port, allowed);
  if (!isNamed && !(isIP(host) === 0 ? isPublicName(host) : isPublicAddress(host))) throw notPublic(host);
  if (!isNamed && port < firstFreePort && !webPorts.has(port)) {
    throw new AppError("blocked", `The port ${port} is not one of the web.`, {
      suggestion: "Only 80, 443 and those from 1024 on are opened.",
    });
  }
  return { url, host, port, isNamed };
}

/** The refusal of a host that is not in the public internet. */
function notPublic(host: string): AppError {
  return new AppError("blocked", `${host} is not in the public internet and is not opened.`, {
    suggestion:
      "Use a public address. Whoever runs the server can name hosts of a private network in MILLRACE_WEB_ALLOW.",
  });
}

function isAllowed(host: string, port: number, allowed: readonly string[]): boolean {
  const written = isIP(host) === 6 ? `[${host}]` : host;
  return allowed.some((entry) => [host, written, `${written}:${port}`].includes(entry.toLowerCase()));
}
