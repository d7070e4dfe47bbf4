import { isIP } from "node:net";
import { AppError } from "../errors/errors.ts";
import { isPublicAddress, isPublicName } from "./network-address.ts";

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
export function notPublic(host: string): AppError {
  return new AppError("blocked", `${host} is not in the public internet and is not opened.`, {
    suggestion:
      "Use a public address. Whoever runs the server can name hosts of a private network in MILLRACE_WEB_ALLOW.",
  });
}

function isAllowed(host: string, port: number, allowed: readonly string[]): boolean {
  const written = isIP(host) === 6 ? `[${host}]` : host;
  return allowed.some((entry) => [host, written, `${written}:${port}`].includes(entry.toLowerCase()));
}
