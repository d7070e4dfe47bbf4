import { BlockList, isIP, type LookupFunction } from "node:net";
import type { Agent, buildConnector } from "undici";
import { lookup } from "node:dns";
import { Resolver } from "node:dns/promises";
import { AppError } from "../errors/errors.ts";
import ipaddr from "ipaddr.js";

/** The rules for web requests. */
export interface WebRules {
  /** Hosts, or `host:port`, allowed by the operator: they may be in a private network. */
  allowed: readonly string[];
  /** Resolves host names; by default as this machine does. */
  find?: FindAddresses | undefined;
  connectTo?: ((addresses: readonly string[]) => buildConnector.connector) | undefined;
}

/**
 * An agent that connects only to the host's checked addresses: the name is not resolved again, so it cannot point
 * elsewhere meanwhile. The caller destroys it. Throws as `resolveHost` does.
 */
export async function openAgent(
  place: WebAddress,
  { find = findAddresses, connectTo }: WebRules,
  options: Pick<Agent.Options, "maxResponseSize">,
  signal: AbortSignal,
): Promise<Agent> {
  const addresses = await resolveHost(place, find, signal);
  // Loaded with the first request: most servers make none.
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

/** Resolves a name. `isNamed`: the operator has allowed the host, so only this machine may know it. */
type FindAddresses = (name: string, isNamed: boolean, signal: AbortSignal) => Promise<string[]>;

/**
 * A host's addresses, all checked. A name with a non-public address is refused as a whole, since the system chooses the
 * address. Throws `blocked`, and `network` for a name without addresses.
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
 * Queries DNS for a public name, and the system resolver for one allowed by the operator. A slow name server blocks no
 * thread of the process, as the system resolver would.
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

/** The allocated part of IPv6; ipaddr.js treats the rest as public, too. */
const givenOut = ipaddr.parseCIDR("2000::/3");
/** Within it: the former test network, no longer in the registry of special addresses. */
const formerTests = ipaddr.parseCIDR("3ffe::/16");
/** A public address under which a cloud serves secrets to its machines. */
const azure = "168.63.129.16";

/**
 * Whether an IP (as `net.isIP` knows it) is public: not private, a tunnel, IPv4 inside IPv6, or another special range.
 * Anything that is not an IP, or has a zone, is not.
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0 || address.includes("%") || address === azure) return false;
  const read = ipaddr.parse(address);
  if (read.range() !== "unicast") return false;
  return read.kind() === "ipv4" || (read.match(givenOut) && !read.match(formerTests));
}

/** Addresses of cloud metadata services, and link-local ones. */
const neverReached = new BlockList();
neverReached.addSubnet("169.254.0.0", 16, "ipv4");
neverReached.addAddress("0.0.0.0", "ipv4");
neverReached.addAddress("100.100.100.200", "ipv4");
neverReached.addAddress("168.63.129.16", "ipv4");
neverReached.addSubnet("fe80::", 10, "ipv6");
neverReached.addAddress("fd00:ec2::254", "ipv6");
neverReached.addAddress("::", "ipv6");

/**
 * Whether an IP must never be reached, even if the operator allowed its host: link-local addresses and metadata
 * services. IPv4 inside IPv6 is checked as IPv4.
 */
export function isLinkOrMetadata(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && neverReached.check(address, version === 4 ? "ipv4" : "ipv6");
}

/** Names for this machine, its network or a cloud's metadata, whatever they resolve to. */
const closedNames =
  /^(?:[^.]*|.*\.(?:localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa|onion)|metadata\.goog)\.?$/iu;

/** Whether a host name (not an IP) may be public: it has a dot, and no suffix of private networks. */
function isPublicName(name: string): boolean {
  return !closedNames.test(name);
}

/** Below these only the two web ports: no request to mail or other protocols' servers. */
const [firstFreePort, webPorts] = [1024, new Set([80, 443])];

/** A request's target: the URL, the host and port to connect to, and whether the operator allowed the host. */
export interface WebAddress {
  url: URL;
  /** A name, or an IP without brackets. */
  host: string;
  port: number;
  isNamed: boolean;
}

/**
 * Parses a URL and checks everything that needs no lookup: only http(s), no credentials, a web port, no host of this
 * machine or a private network, in any notation. `allowed` are hosts, or `host:port`, allowed by the operator. Throws
 * `invalid_parameter`, or `blocked`.
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

/** The error for a host outside the public internet. */
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
