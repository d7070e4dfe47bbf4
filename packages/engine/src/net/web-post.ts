import { AppError } from "../errors/errors.ts";
import { openSocket } from "./open-socket.ts";
import { requestFailure } from "./request-failure.ts";
import { findAddresses, resolveHost } from "./resolve-host.ts";
import { sendRequest } from "./send-request.ts";
import { readWebAddress } from "./web-address.ts";
import type { WebRules } from "./web-get.ts";

/** What is told to an address of the web. */
export interface WebMessage {
  address: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** Milliseconds until the answer's head is there. */
  within: number;
}

/**
 * Posts to an address of the web, and to nothing else: it goes where the address says, never on from there. Gives the
 * status of the answer. Throws AppErrors: `blocked`, `network`, `timeout`, `invalid_parameter`; and the signal's
 * reason.
 */
export async function webPost(
  { address, headers, body, within }: WebMessage,
  rules: WebRules,
  signal: AbortSignal,
): Promise<number> {
  const place = readWebAddress(address, rules.allowed);
  const late = AbortSignal.timeout(within);
  const ends = AbortSignal.any([signal, late]);
  try {
    const addresses = await resolveHost(place, rules.find ?? findAddresses, ends);
    const sent = { ...headers, "content-length": String(Buffer.byteLength(body)) };
    const open = rules.open ?? openSocket;
    const answer = await sendRequest(place, { method: "POST", addresses, headers: sent, body, open }, ends);
    answer.destroy();
    return answer.statusCode ?? 0;
  } catch (error) {
    signal.throwIfAborted();
    if (!late.aborted) throw requestFailure(error, place.host);
    throw new AppError("timeout", `${place.host} did not answer within ${within / 1000} seconds.`, {
      recoverable: true,
    });
  }
}
