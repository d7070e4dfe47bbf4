import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/**
 * How a server is cut off: nothing arrives any more, and what was sent meanwhile does when the cut is over, as TCP sends it again
 * (`drop`); each connection is reset (`reset`); what is asked arrives, and no answer comes back (`half-open`).
 */
export const cutKinds = ["drop", "reset", "half-open"] as const;
export type CutKind = (typeof cutKinds)[number];

/** A proxy on loopback before a PostgreSQL that cuts a server off from it. */
export class CutProxy {
  readonly #server: Server;
  readonly #target: string;
  readonly #pairs = new Set<{ client: Socket; server: Socket }>();
  #cut: CutKind | undefined;

  /** `target`: the path of a socket. */
  constructor(target: string) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  async listen(): Promise<this> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  /** The address of a database that is reached by this proxy. */
  addressOf(database: string): string {
    // A server that listens on a port has an AddressInfo; a string is only for pipes.
    const { port } = this.#server.address() as AddressInfo;
    return `postgres://postgres@127.0.0.1:${port}/${database}`;
  }

  cut(kind: CutKind): void {
    this.#cut = kind;
    for (const { client, server } of this.#pairs) {
      if (kind === "reset") {
        client.resetAndDestroy();
        server.destroy();
      }
      if (kind !== "drop") continue;
      client.pause();
      server.pause();
    }
  }

  /** Ends the cut. Connections that have lost something end. */
  heal(): void {
    const kind = this.#cut;
    this.#cut = undefined;
    for (const { client, server } of this.#pairs) {
      if (kind === "half-open") client.destroy();
      client.resume();
      server.resume();
    }
  }

  async close(): Promise<void> {
    this.#server.close();
    for (const { client } of this.#pairs) client.destroy();
    await once(this.#server, "close");
  }

  #join(client: Socket): void {
    if (this.#cut === "reset") {
      client.on("error", () => undefined);
      client.resetAndDestroy();
      return;
    }
    const server = connect(this.#target);
    const pair = { client, server };
    this.#pairs.add(pair);
    client.on("data", (part) => server.write(part));
    server.on("data", (part) => {
      if (this.#cut !== "half-open") client.write(part);
    });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#pairs.delete(pair);
        other.destroy();
      });
    }
    if (this.#cut !== "drop") return;
    client.pause();
    server.pause();
  }
}
