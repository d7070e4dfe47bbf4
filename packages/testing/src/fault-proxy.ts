import { once } from "node:events";
import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** What a proxy does to what the server sends over one connection. */
export type LinkFault =
  /** Everything goes through. */
  | { kind: "none" }
  /** Each part arrives so many milliseconds late, in order. */
  | { kind: "delay"; milliseconds: number }
  /** Parts of `bytes` at most, one per turn of the event loop: characters and frames are torn apart. */
  | { kind: "drip"; bytes: number }
  /** After so many bytes the connection ends in good order. */
  | { kind: "cut"; after: number }
  /** After so many bytes the connection is reset. */
  | { kind: "reset"; after: number }
  /** After so many bytes the connection stays open and silent. */
  | { kind: "half-open"; after: number };

/** A TCP proxy on loopback in front of a server that breaks connections on request. */
export class FaultProxy {
  readonly #server: Server;
  readonly #targetPort: () => number;
  readonly #sockets = new Set<Socket>();
  /** Connections it has broken so far. */
  broken = 0;

  /** `nextFault` is asked once for each connection. */
  constructor(targetPort: () => number, nextFault: () => LinkFault) {
    this.#targetPort = targetPort;
    this.#server = createServer((client) => this.#join(client, nextFault()));
  }

  get port(): number {
    // A server that listens on a port has an AddressInfo; a string is only for pipes.
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  /** Breaks every connection there is; new ones are taken. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends everything, half-open connections too. */
  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, "close");
  }

  #join(client: Socket, fault: LinkFault): void {
    const server = connect(this.#targetPort(), "127.0.0.1");
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    }
    client.on("data", (part) => server.write(part));
    client.on("end", () => server.end());
    client.on("error", () => server.destroy());
    client.on("close", () => server.destroy());
    // A server that is down or was killed resets; so does the proxy then. A reset of what is just ending would keep its
    // handle, and with it the process, open for ever.
    server.on("error", () => (client.writableEnded ? client.destroy() : client.resetAndDestroy()));
    this.#forward(server, client, fault).catch(() => client.destroy());
  }

  /** From the server to the client, with the fault. */
  async #forward(server: Socket, client: Socket, fault: LinkFault): Promise<void> {
    let left = "after" in fault ? fault.after : Number.POSITIVE_INFINITY;
    // Sockets without an encoding give Buffers.
    for await (const part of server as AsyncIterable<Buffer>) {
      if (fault.kind === "delay") await delay(fault.milliseconds);
      // A link that is half open swallows what the server goes on to send.
      if (left === 0) continue;
      const allowed = part.subarray(0, left);
      left -= allowed.length;
      await this.#send(client, allowed, fault.kind === "drip" ? fault.bytes : allowed.length);
      if (left > 0) continue;
      this.broken += 1;
      if (fault.kind === "half-open") continue;
      if (fault.kind === "reset") client.resetAndDestroy();
      else client.end();
      return;
    }
    if (left > 0) client.end();
  }

  async #send(client: Socket, bytes: Buffer, size: number): Promise<void> {
    for (let start = 0; start < bytes.length && !client.destroyed; start += size) {
      const more = client.write(bytes.subarray(start, start + size));
      if (size < bytes.length) await new Promise(setImmediate);
      if (!more && !client.destroyed) await Promise.race([once(client, "drain"), once(client, "close")]);
    }
  }
}
