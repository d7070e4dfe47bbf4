import { once } from "node:events";
import {
  createServer,
  request,
  type ClientRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

/** A balancer on loopback that sends every request to another server than the one before. */
export class RoundRobin {
  readonly #server: Server;
  readonly #targets: () => readonly string[];
  #next = 0;

  /** `targets`: addresses of the servers, asked for with each request. */
  constructor(targets: () => readonly string[]) {
    this.#targets = targets;
    this.#server = createServer((incoming, outgoing) => this.#pass(incoming, outgoing));
    this.#server.on("upgrade", (incoming: IncomingMessage, socket: Duplex) => this.#join(incoming, socket));
  }

  get url(): string {
    // A server that listens on a port has an AddressInfo; a string is only for pipes.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(port = 0): Promise<this> {
    this.#server.listen(port, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  /** Closes it, and what still goes through it. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  /** The same request to the next server; nothing without one. */
  #ask({ url = "/", method = "GET", headers }: IncomingMessage): ClientRequest | undefined {
    const targets = this.#targets();
    const target = targets[this.#next % targets.length];
    this.#next += 1;
    return target === undefined ? undefined : request(target + url, { method, headers, agent: false });
  }

  #pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const passed = this.#ask(incoming);
    // A server that is gone breaks the connection, as a balancer does that has not found out yet.
    if (passed === undefined) return void outgoing.destroy();
    passed.on("response", (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, response.rawHeaders);
      outgoing.flushHeaders();
      response.pipe(outgoing);
      response.on("error", () => outgoing.destroy());
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  }

  /** A connection that becomes a WebSocket stays at its server. */
  #join(incoming: IncomingMessage, socket: Duplex): void {
    const passed = this.#ask(incoming);
    const broken = (): void => void socket.destroy();
    if (passed === undefined) return broken();
    const begin = ({ statusCode, statusMessage, rawHeaders }: IncomingMessage): void => {
      const lines = rawHeaders.flatMap((name, at) => (at % 2 === 0 ? `${name}: ${rawHeaders[at + 1]}\r\n` : []));
      socket.write(`HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join("")}\r\n`);
    };
    passed.on("upgrade", (response, server, first) => {
      begin(response);
      socket.write(first);
      server.pipe(socket);
      socket.pipe(server);
      server.on("error", broken);
      socket.on("close", () => server.destroy());
    });
    // One that refuses to be a WebSocket answers as always.
    passed.on("response", (response) => {
      begin(response);
      response.pipe(socket);
    });
    passed.on("error", broken);
    socket.on("error", () => passed.destroy());
    passed.end();
  }
}
