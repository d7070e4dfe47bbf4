import { BlockList, isIP } from "node:net";
import ipaddr from "ipaddr.js";

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
export function isPublicName(name: string): boolean {
  return !closedNames.test(name);
}
