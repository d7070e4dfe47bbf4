import { BlockList, isIP } from "node:net";

/**
 * IPv4 addresses that are not in the public internet (IANA's registry of special addresses), and those in it under
 * which a cloud tells its machines their secrets.
 */
const closedIpv4 = new BlockList();
for (const [net, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const) {
  closedIpv4.addSubnet(net, prefix, "ipv4");
}

/** Everything public in IPv6 is in here, apart from `closedIpv6`; IPv4 inside of IPv6 (::ffff:0:0/96, NAT64) is not. */
const openIpv6 = new BlockList();
openIpv6.addSubnet("2000::", 3, "ipv6");

/** What is special in it: Teredo and other tunnels, which hold IPv4 addresses of their own (6to4), and examples. */
const closedIpv6 = new BlockList();
for (const [net, prefix] of [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3ffe::", 16],
  ["3fff::", 20],
] as const) {
  closedIpv6.addSubnet(net, prefix, "ipv6");
}

/**
 * Whether an address (an IP, as `net.isIP` knows it) is one of the public internet. Whatever is no address, or has a
 * zone, is not.
 */
export function isPublicAddress(address: string): boolean {
  switch (address.includes("%") ? 0 : isIP(address)) {
    case 4:
      return !closedIpv4.check(address, "ipv4");
    case 6:
      return openIpv6.check(address, "ipv6") && !closedIpv6.check(address, "ipv6");
    default:
      return false;
  }
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
