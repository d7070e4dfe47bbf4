import { connect as connectPlain, isIP, type LookupFunction } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectSecure } from "node:tls";

/** A connection to open: `host` is told to the server, `addresses` are what is connected to. */
export interface SocketTarget {
  host: string;
  port: number;
  addresses: readonly string[];
  isSecure: boolean;
}

/** Opens a connection; what goes wrong is told by the socket. */
export type OpenSocket = (target: SocketTarget) => Duplex;

/**
 * Opens a connection to one of the given addresses and to nothing else: the name is not asked for again, so it cannot
 * mean another machine by now. The certificate has to be that of the host.
 */
export const openSocket: OpenSocket = ({ host, port, addresses, isSecure }) => {
  const lookup: LookupFunction = (_name, options, answer) => {
    const known = addresses.map((address) => ({ address, family: isIP(address) }));
    const [first] = known;
    if (first === undefined) answer(new Error(`${host} has no address`), "");
    else if (options.all === true) answer(null, known);
    else answer(null, first.address, first.family);
  };
  const target = { host, port, lookup, autoSelectFamily: true };
  if (!isSecure) return connectPlain(target);
  return connectSecure({ ...target, ALPNProtocols: ["http/1.1"], ...(isIP(host) === 0 ? { servername: host } : {}) });
};
