import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTcpServer, type AddressInfo, type Server } from "node:net";
import { ollamaBody, ollamaError, ollamaStream } from "@millrace/testing/model-server-ollama";
import { openaiBody, openaiError, openaiStream, type WireAnswer } from "@millrace/testing/model-server-openai";
import { chatBodyOf, responsesBody, responsesStream } from "@millrace/testing/model-server-responses";
import { ChatBody, toPieces, type ModelRequest, type ModelStep } from "@millrace/testing/model-server-script";

export type Wire = "openai" | "responses" | "ollama";

/** One request of a client, and the means to answer it wrongly. */
export interface Exchange {
  wire: Wire;
  asked: ModelRequest;
  /** Whether the client wants the answer piece by piece. */
  isStreamed: boolean;
  response: ServerResponse;
  /** The bytes of a good answer. */
  write: (step: ModelStep) => WireAnswer;
  /** An error answer in the words of the provider. */
  refuse(status: number, text: string, headers?: Record<string, string>, code?: string): void;
  /** Gives a good answer. */
  answer(step: ModelStep): void;
  /** Begins a good answer: its first piece where it is streamed, half of its body where it is not. Resolves when it is out. */
  begin(step: ModelStep): Promise<void>;
}

/** Answers a request, wrongly or not. */
export type Play = (exchange: Exchange) => void | Promise<void>;

/** A server whose first answer is the fault; all others are good. */
export interface FaultServer {
  /** Without the part that only one provider has. */
  address: string;
  requests: number;
  close(): Promise<void>;
}

/** Starts one on loopback. */
export async function startFaultServer(play: Play, next: ModelStep): Promise<FaultServer> {
  const running = await startPlayServer((exchange) => {
    if (running.requests > 1) exchange.answer(next);
    else return play(exchange);
  });
  return running;
}

/** Starts a server on loopback each of whose answers is played. */
export async function startPlayServer(play: Play): Promise<FaultServer> {
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  const running: FaultServer = {
    address: "",
    requests: 0,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = await exchangeOf(request, response);
    running.requests += 1;
    await play(exchange);
  }
  running.address = `http://127.0.0.1:${await listen(server)}`;
  return running;
}

/** Starts a server that takes connections and never says a word. */
export async function startSilentServer(): Promise<FaultServer> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
  });
  const port = await listen(server);
  return {
    address: `https://127.0.0.1:${port}`,
    requests: 0,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an AddressInfo; a string is only for pipes.
  return (server.address() as AddressInfo).port;
}

function wireOf(url: string): Wire {
  if (url === "/api/chat") return "ollama";
  return url.endsWith("/responses") ? "responses" : "openai";
}

async function exchangeOf(request: IncomingMessage, response: ServerResponse): Promise<Exchange> {
  const parts: Buffer[] = [];
  // Without an encoding set, a request gives Buffers.
  for await (const part of request) parts.push(part as Buffer);
  const raw = Buffer.concat(parts).toString("utf8");
  const wire: Wire = wireOf(request.url ?? "");
  const sent: unknown = JSON.parse(raw);
  const body = ChatBody.parse(wire === "responses" ? chatBodyOf(sent) : sent);
  const isStreamed = body.stream ?? wire === "ollama";
  const asked: ModelRequest = {
    index: 0,
    protocol: wire,
    path: request.url ?? "/",
    headers: request.headers,
    body,
    raw,
    messages: body.messages,
    toolNames: [],
  };
  const write = (step: ModelStep): WireAnswer => {
    let last = 0;
    const pieces = toPieces(step, () => `call_${(last += 1)}`);
    if (wire === "ollama") return isStreamed ? ollamaStream(step, pieces, asked) : ollamaBody(step, pieces, asked);
    if (wire === "responses") {
      const id = `resp_${crypto.randomUUID()}`;
      return isStreamed ? responsesStream(id, step, pieces, asked) : responsesBody(id, step, pieces, asked);
    }
    const id = `chatcmpl-${crypto.randomUUID()}`;
    return isStreamed ? openaiStream(id, step, pieces, asked) : openaiBody(id, step, pieces, asked);
  };
  return {
    wire,
    asked,
    isStreamed,
    response,
    write,
    refuse(status, text, headers = {}, code) {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(wire === "ollama" ? ollamaError(text) : openaiError(text, code));
    },
    answer(step) {
      const { contentType, head, lines, tail } = write(step);
      response.writeHead(200, { "content-type": contentType });
      response.end(head + lines.join("") + tail);
    },
    async begin(step) {
      const { contentType, head, lines, tail } = write(step);
      const part = isStreamed ? head + (lines[0] ?? "") : tail.slice(0, tail.length / 2);
      response.writeHead(200, { "content-type": contentType });
      await new Promise<void>((resolve) => response.write(part, () => resolve()));
    },
  };
}
