import { once } from "node:events";
import { createServer, connect, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** A fault that the proxy applies to a server's response on one connection. */
export type LinkFault =
  /** No fault. */
  | { kind: "none" }
  /** Each chunk arrives this many milliseconds late, in order. */
  | { kind: "delay"; milliseconds: number }
  /** Chunks of at most `bytes`, one per event-loop turn: splits characters and frames. */
  | { kind: "drip"; bytes: number }
  /** Ends the connection normally after this many bytes. */
  | { kind: "cut"; after: number }
  /** Resets the connection after this many bytes. */
  | { kind: "reset"; after: number }
  /** Keeps the connection open without sending more after this many bytes. */
  | { kind: "half-open"; after: number };

/** A TCP proxy on loopback in front of a server that breaks connections on request. */
export class FaultProxy {
  readonly #server: Server;
  readonly #target: () => number | string;
  readonly #sockets = new Set<Socket>();
  /** Number of connections broken so far. */
  broken = 0;

  /** `target`: a port on loopback, or the path of a socket. `nextFault` is called once per connection. */
  constructor(target: () => number | string, nextFault: () => LinkFault) {
    this.#target = target;
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

  /** Breaks all current connections; new ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Closes the proxy and all connections, including half-open ones. */
  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, "close");
  }

  #join(client: Socket, fault: LinkFault): void {
    const target = this.#target();
    const server = typeof target === "string" ? connect(target) : connect(target, "127.0.0.1");
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on("close", () => this.#sockets.delete(socket));
    }
    client.on("data", (part) => server.write(part));
    client.on("end", () => server.end());
    client.on("error", () => server.destroy());
    client.on("close", () => server.destroy());
    // A server that is down resets connections, and so does the proxy. Resetting a socket that is already ending would
    // keep its handle, and so the process, alive.
    server.on("error", () => (client.writableEnded ? client.destroy() : client.resetAndDestroy()));
    this.#forward(server, client, fault).catch(() => client.destroy());
  }

  /** Forwards the server's response to the client with the fault. */
  async #forward(server: Socket, client: Socket, fault: LinkFault): Promise<void> {
    let left = "after" in fault ? fault.after : Number.POSITIVE_INFINITY;
    // Sockets without an encoding give Buffers.
    for await (const part of server as AsyncIterable<Buffer>) {
      if (fault.kind === "delay") await delay(fault.milliseconds);
      // A half-open connection discards further data.
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
