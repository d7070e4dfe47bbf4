import { lookup } from "node:dns";
import { Resolver } from "node:dns/promises";
import { isIP } from "node:net";
import { AppError } from "../errors/errors.ts";
import { isLinkOrMetadata, isPublicAddress } from "./network-address.ts";
import { notPublic, type WebAddress } from "./web-address.ts";

/** Finds the addresses of a name. `isNamed`: the operator has named the host, so it may be one that only this machine knows. */
export type FindAddresses = (name: string, isNamed: boolean, signal: AbortSignal) => Promise<string[]>;

/**
 * The addresses of a host, every one of them checked; a name that has one that is not public is refused as a whole,
 * since nobody chooses which is taken. Throws `blocked`, and `network` for a name that has none.
 */
export async function resolveHost(
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
export const findAddresses: FindAddresses = async (name, isNamed, signal) => {
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
