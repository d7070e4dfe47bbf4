import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ollamaBody, ollamaStream } from "./model-server-ollama.ts";
import { ChatBody, toPieces, type ModelRequest, type ModelStep } from "./model-server-script.ts";

/** An installed model of the scripted Ollama server. */
export interface ScriptedModel {
  name: string;
  size?: number;
  digest?: string;
  modified_at?: string;
  details?: object;
  /** The response of `/api/show`, or an error status. */
  show?: object | number;
  /** Set if the model is loaded, with its window. */
  running?: { context_length: number };
}

/** A replacement response for one path: a status and body, or no response. */
export type OllamaFault = { status: number; body: string } | "hang";

/**
 * A scripted Ollama server on loopback: list, details and chat. It can be stopped and restarted at the same address.
 */
export class OllamaServer {
  models: ScriptedModel[] = [];
  version = "0.12.9";
  readonly faults = new Map<string, OllamaFault>();
  /** Requested paths, in order. */
  readonly asked: string[] = [];
  readonly chats: ChatBody[] = [];
  #answer: (body: ChatBody) => ModelStep = () => ({ text: "Hello." });
  #server: Server | undefined;
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Sets the models' responses. */
  answers(answer: (body: ChatBody) => ModelStep): void {
    this.#answer = answer;
  }

  async start(): Promise<this> {
    const server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) =>
        response.destroy(error instanceof Error ? error : undefined),
      );
    });
    this.#server = server;
    server.listen(this.#port, "127.0.0.1");
    await once(server, "listening");
    // A server that listens on a port has an AddressInfo; a string is only for pipes.
    this.#port = (server.address() as AddressInfo).port;
    return this;
  }

  /** Refuses connections until the next `start`. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    server.close();
    server.closeAllConnections();
    await once(server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    this.asked.push(path);
    const parts: Buffer[] = [];
    // Without an encoding set, a request gives Buffers.
    for await (const part of request) parts.push(part as Buffer);
    const text = Buffer.concat(parts).toString("utf8");
    const fault = this.faults.get(path);
    if (fault === "hang") return;
    if (fault !== undefined) {
      response.writeHead(fault.status, { "content-type": "application/json" }).end(fault.body);
      return;
    }
    if (path === "/api/chat") this.#chat(ChatBody.parse(JSON.parse(text)), text, response);
    else {
      const [status, body] = this.#facts(path, text);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    }
  }

  #facts(path: string, text: string): [number, object] {
    switch (path) {
      case "/api/version":
        return [200, { version: this.version }];
      case "/api/tags":
        return [200, { models: this.models.map(({ show: _show, running: _running, ...listed }) => listed) }];
      case "/api/ps":
        return [200, { models: this.models.flatMap(({ name, running }) => (running ? [{ name, ...running }] : [])) }];
      case "/api/show": {
        const { model: name }: { model?: string } = JSON.parse(text);
        const found = this.models.find((model) => model.name === name || model.name === `${name}:latest`);
        if (found === undefined) return [404, { error: `model '${name}' not found` }];
        if (typeof found.show === "number") return [found.show, { error: "it cannot be shown" }];
        return [200, found.show ?? {}];
      }
      default:
        return [404, { error: "404 page not found" }];
    }
  }

  #chat(body: ChatBody, raw: string, response: ServerResponse): void {
    this.chats.push(body);
    const step = this.#answer(body);
    if (step.fault?.kind === "status") {
      const error = JSON.stringify({ error: step.fault.message ?? "scripted" });
      response.writeHead(step.fault.status, { "content-type": "application/json" }).end(error);
      return;
    }
    const pieces = toPieces(step, () => crypto.randomUUID());
    const { messages } = body;
    const head = { index: 0, path: "/api/chat", headers: {}, protocol: "ollama" } as const;
    const request: ModelRequest = { ...head, toolNames: [], body, raw, messages };
    const isStreamed = body.stream !== false;
    const answer = isStreamed ? ollamaStream(step, pieces, request) : ollamaBody(step, pieces, request);
    response.writeHead(200, { "content-type": answer.contentType });
    response.end(answer.head + answer.lines.join("") + answer.tail);
  }
}
