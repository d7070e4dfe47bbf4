import { BlockList, isIP } from "node:net";
import { z } from "zod";

/**
 * Where clouds keep the secrets of their machines, and what only this link knows. Own and private networks are allowed:
 * that is where people run their models.
 */
const refused = new BlockList();
refused.addSubnet("169.254.0.0", 16, "ipv4");
refused.addAddress("0.0.0.0", "ipv4");
refused.addAddress("100.100.100.200", "ipv4");
refused.addSubnet("fe80::", 10, "ipv6");
refused.addAddress("fd00:ec2::254", "ipv6");
refused.addAddress("::", "ipv6");
const refusedNames =
  /^(?:metadata|instance-data|metadata\.(?:google|goog)(?:\.internal)?|metadata\.google\.internal)\.?$/iu;

/** Whether a model server may be at this address (an IP). IPv4 inside of IPv6 counts as what it is. */
export function isRefusedAddress(address: string): boolean {
  const version = isIP(address);
  return version !== 0 && refused.check(address, version === 4 ? "ipv4" : "ipv6");
}

/**
 * The address of a model server. To set one is an operator's act, since keys go there; so private networks are allowed,
 * but no link-local address and no metadata service of a cloud (S13 in reliability.md). Without a slash at its end.
 */
export const BaseUrl = z
  .url({ protocol: /^https?$/u, error: "expected an address that begins with http:// or https://" })
  .max(2000)
  .transform((text, context) => {
    const url = new URL(text);
    const host = url.hostname.replace(/^\[|\]$/gu, "");
    if (url.username !== "" || url.password !== "") {
      context.addIssue({ code: "custom", message: "expected an address without a name or password; keys go by name" });
    }
    if (url.search !== "" || url.hash !== "") {
      context.addIssue({ code: "custom", message: "expected an address without ? and #" });
    }
    if (isRefusedAddress(host) || refusedNames.test(host)) {
      context.addIssue({ code: "custom", message: "link-local addresses and metadata services are refused" });
    }
    return url.href.replace(/\/+$/u, "");
  });
