import { request, type IncomingMessage } from "node:http";
import type { OpenSocket } from "./open-socket.ts";
import type { WebAddress } from "./web-address.ts";

/** What is sent, and to which of the host's addresses, all of which were checked. */
export interface SentRequest {
  method: "GET" | "POST";
  addresses: readonly string[];
  headers: Readonly<Record<string, string>>;
  body?: string;
  open: OpenSocket;
}

/** Sends a request over a connection of its own, and gives the answer once its head is there. */
export async function sendRequest(
  { url, host, port }: WebAddress,
  { method, addresses, headers, body, open }: SentRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const isSecure = url.protocol === "https:";
  const sent = request({
    // The connection is secure or not; what is said over it is the same.
    protocol: "http:",
    method,
    path: `${url.pathname}${url.search}`,
    headers: { host: url.host, "user-agent": "Millrace", ...headers },
    createConnection: () => open({ host, port, addresses, isSecure }),
    signal,
  });
  sent.on("response", resolve);
  sent.on("error", reject);
  sent.end(body);
  return await promise;
}
