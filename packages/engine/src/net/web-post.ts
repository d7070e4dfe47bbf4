import { AppError } from "../errors/errors.ts";
import { openAgent, type WebRules } from "./checked-agent.ts";
import { requestFailure } from "./request-failure.ts";
import { readWebAddress } from "./web-address.ts";

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
    const agent = await openAgent(place, rules, {}, ends);
    try {
      const { url } = place;
      const sent = { "user-agent": "Millrace", ...headers };
      const answer = await agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: "POST",
        headers: sent,
        body,
        signal: ends,
      });
      // Nobody reads the body; what breaks with it is no failure.
      answer.body.on("error", () => undefined).destroy();
      return answer.statusCode;
    } finally {
      await agent.destroy();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!late.aborted) throw requestFailure(error, place.host);
    throw new AppError("timeout", `${place.host} did not answer within ${within / 1000} seconds.`, {
      recoverable: true,
    });
  }
}
