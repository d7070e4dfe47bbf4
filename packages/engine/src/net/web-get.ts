import { AppError } from "../errors/errors.ts";
import { openSocket, type OpenSocket } from "./open-socket.ts";
import { acceptedCodings, readBody } from "./read-body.ts";
import { requestFailure } from "./request-failure.ts";
import { findAddresses, resolveHost, type FindAddresses } from "./resolve-host.ts";
import { sendRequest } from "./send-request.ts";
import { readWebAddress, type WebAddress } from "./web-address.ts";

/** What stands around every request to the web. */
export interface WebRules {
  /** Hosts, or `host:port`, that the operator has named: they may be in a private network. */
  allowed: readonly string[];
  /** How names and connections are found; by itself, as this machine does it. */
  find?: FindAddresses;
  open?: OpenSocket;
}

/** One request. */
export interface WebRequest {
  address: string;
  headers?: Readonly<Record<string, string>>;
  /** How often the server may send it elsewhere. */
  redirects: number;
  /** Bytes of the answer. */
  limit: number;
  /** Of a longer one the beginning is enough; else it is refused. */
  isCut?: boolean;
  /** Milliseconds for all of it. */
  within: number;
}

/** What came. `url` is where it came from in the end. */
export interface WebAnswer {
  url: URL;
  status: number;
  /** As the server wrote it; empty where it did not. */
  contentType: string;
  body: Buffer;
}

/**
 * Gets what is at an address of the web, and of nothing else: the host of every hop is checked, each of its addresses,
 * and the connection goes to one that was checked. Throws AppErrors: `blocked`, `network`, `timeout`, `too_large`,
 * `invalid_format`, `invalid_parameter`; and the signal's reason.
 */
export async function webGet(wanted: WebRequest, rules: WebRules, signal: AbortSignal): Promise<WebAnswer> {
  const { address, redirects, within } = wanted;
  const late = AbortSignal.timeout(within);
  const ends = AbortSignal.any([signal, late]);
  let place = readWebAddress(address, rules.allowed);
  for (let hop = 0; ; hop += 1) {
    try {
      const answer = await getOnce(place, wanted, rules, ends);
      if (!("next" in answer)) return answer;
      if (hop >= redirects) {
        throw new AppError("blocked", `${place.host} sends the request on, more often than ${redirects} times.`);
      }
      place = nextPlace(answer.next, place, rules);
    } catch (error) {
      signal.throwIfAborted();
      if (late.aborted) {
        throw new AppError("timeout", `${place.host} did not answer within ${within / 1000} seconds.`, {
          suggestion: "Try again later, or look elsewhere.",
          recoverable: true,
        });
      }
      throw requestFailure(error, place.host);
    }
  }
}

/** An address that a server sends us to is checked like the first. */
function nextPlace(location: string, from: WebAddress, rules: WebRules): WebAddress {
  if (!URL.canParse(location, from.url.href)) {
    throw new AppError("invalid_format", `${from.host} sends the request on to something that is no address.`);
  }
  return readWebAddress(new URL(location, from.url).href, rules.allowed);
}

async function getOnce(
  place: WebAddress,
  { headers = {}, limit, isCut = false }: WebRequest,
  rules: WebRules,
  signal: AbortSignal,
): Promise<WebAnswer | { next: string }> {
  const addresses = await resolveHost(place, rules.find ?? findAddresses, signal);
  const sent = { "accept-encoding": acceptedCodings, ...headers };
  const open = rules.open ?? openSocket;
  const answer = await sendRequest(place, { method: "GET", addresses, headers: sent, open }, signal);
  try {
    const { statusCode: status = 0, headers: told } = answer;
    if ([301, 302, 303, 307, 308].includes(status) && told.location !== undefined) return { next: told.location };
    const body = await readBody(answer, { limit, isCut }, signal);
    return { url: place.url, status, contentType: told["content-type"] ?? "", body };
  } finally {
    answer.destroy();
  }
}
