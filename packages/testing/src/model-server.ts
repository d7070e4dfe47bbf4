import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { EmbedBody, embedAnswer, isEmbedding, type EmbedRequest } from "./model-server-embeddings.ts";
import { ollamaBody, ollamaError, ollamaStream } from "./model-server-ollama.ts";
import { openaiBody, openaiError, openaiStream, type WireAnswer } from "./model-server-openai.ts";
import { chatBodyOf, responsesBody, responsesStream } from "./model-server-responses.ts";
import {
  ChatBody,
  historyProblem,
  toPieces,
  type ModelRequest,
  type ModelStep,
  type Protocol,
} from "./model-server-script.ts";

export type { ModelRequest, ModelStep, ScriptedToolCall, WireMessage } from "./model-server-script.ts";
export { mayCall, wireText } from "./model-server-script.ts";

/** Responses: the steps of `script` in order, one per request, or the result of `handler`. */
export interface ModelServerOptions {
  script?: ModelStep[];
  handler?: (request: ModelRequest) => ModelStep | Promise<ModelStep>;
  /**
   * Returns the vector of a text for `/v1/embeddings` and `/api/embed`, or an error status. A promise delays the
   * response; `signal` aborts when the client disconnects.
   */
  embed?: (text: string, signal: AbortSignal) => number[] | number | Promise<number[] | number>;
  /** Model names listed by `/api/tags` and `/v1/models`. Other models are answered too. */
  models?: string[];
  /** Whether to keep requests for inspection; benchmarks turn it off. Default true. */
  record?: boolean;
  /** Whether to refuse invalid histories with 400, as strict providers do. Default true. */
  strict?: boolean;
  /** Default: any free port. */
  port?: number;
}

/** A scripted model server on loopback that speaks the protocols of OpenAI (`url`) and Ollama (`ollamaUrl`). */
export class ModelServer {
  readonly requests: ModelRequest[] = [];
  /** Received embeddings requests. */
  readonly embedded: EmbedRequest[] = [];
  /** Requests without a scripted step; each gets an error response, and `assertFinished` reports them. */
  readonly unexpected: string[] = [];
  /** Number of chat requests, recorded or not. */
  requestCount = 0;
  readonly #server: Server;
  readonly #script: ModelStep[];
  readonly #options: ModelServerOptions;
  readonly #serial = crypto.randomUUID().slice(0, 8);
  #lastId = 0;

  constructor(options: ModelServerOptions) {
    this.#options = options;
    this.#script = [...(options.script ?? [])];
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        this.unexpected.push(`the server failed: ${String(error)}`);
        response.destroy();
      });
    });
    this.#server.keepAliveTimeout = 60_000;
  }

  /** Base address for OpenAI clients, with `/v1`. */
  get url(): string {
    return `${this.ollamaUrl}/v1`;
  }

  /** Base address for Ollama clients. */
  get ollamaUrl(): string {
    // A server that listens on a port has an AddressInfo; a string is only for pipes.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async listen(): Promise<this> {
    this.#server.listen(this.#options.port ?? 0, "127.0.0.1");
    await once(this.#server, "listening");
    return this;
  }

  /** Adds steps to the end of the script. */
  push(...steps: ModelStep[]): void {
    this.#script.push(...steps);
  }

  /** Throws if scripted steps are left, or if requests had no step. */
  assertFinished(): void {
    const problems = [...this.unexpected];
    if (this.#script.length > 0) problems.push(`${this.#script.length} scripted step(s) were never asked for`);
    if (problems.length > 0) throw new Error(`Model server: ${problems.join("; ")}`);
  }

  /** Closes the server and all connections, including hanging ones. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    if (request.method === "GET" && path === "/api/version") {
      sendError(response, 200, JSON.stringify({ version: "0.13.0" }));
      return;
    }
    if (request.method === "GET" && (path === "/api/tags" || path === "/v1/models")) {
      const names = this.#options.models ?? [];
      const body =
        path === "/api/tags"
          ? { models: names.map((name) => ({ name, model: name })) }
          : { object: "list", data: names.map((id) => ({ id, object: "model" })) };
      sendError(response, 200, JSON.stringify(body));
      return;
    }
    const { embed } = this.#options;
    if (embed !== undefined && isEmbedding(path)) {
      const received = { path, headers: request.headers, body: EmbedBody.parse(parseJson(await readBody(request))) };
      this.embedded.push(received);
      const gone = new AbortController();
      response.once("close", () => gone.abort());
      const { status, body } = await embedAnswer(received, (text) => embed(text, gone.signal));
      sendError(response, status, body);
      return;
    }
    const protocol = protocolOf(path);
    if (request.method !== "POST" || protocol === undefined) {
      this.#refuse(response, `${request.method} ${path} is not served here`, protocol);
      return;
    }
    const raw = await readBody(request);
    const sent = parseJson(raw);
    const body = ChatBody.safeParse(protocol === "responses" ? chatBodyOf(sent) : sent);
    if (!body.success) {
      this.#refuse(response, `${path}: the body is not a chat request: ${body.error.message}`, protocol);
      return;
    }
    const chat: ModelRequest = {
      index: this.requestCount++,
      protocol,
      path,
      headers: request.headers,
      body: body.data,
      raw,
      messages: body.data.messages,
      toolNames: body.data.tools?.flatMap((tool) => tool.function?.name ?? []) ?? [],
    };
    if (this.#options.record !== false) this.requests.push(chat);
    await this.#answer(chat, response);
  }

  async #answer(request: ModelRequest, response: ServerResponse): Promise<void> {
    // Ollama's messages have no call ids, so they cannot be checked.
    const problem =
      request.protocol !== "ollama" && this.#options.strict !== false ? historyProblem(request.messages) : undefined;
    if (problem !== undefined) {
      this.unexpected.push(`a history that a strict provider refuses: ${problem}`);
      sendError(response, 400, openaiError(problem, "invalid_request_error"));
      return;
    }
    const step = this.#script.shift() ?? (await this.#options.handler?.(request));
    if (step === undefined) {
      const words = JSON.stringify(request.messages.at(-1)?.content)?.slice(0, 200);
      this.#refuse(
        response,
        `request ${request.index} was not scripted; its last message is ${words}`,
        request.protocol,
      );
      return;
    }
    await this.#play(step, request, response);
  }

  async #play(step: ModelStep, request: ModelRequest, response: ServerResponse): Promise<void> {
    const fault = step.fault;
    if (fault?.kind === "hang") return;
    if (fault?.kind === "reset") {
      response.socket?.resetAndDestroy();
      return;
    }
    if (fault?.kind === "status") {
      const text = fault.message ?? `scripted status ${fault.status}`;
      if (fault.retryAfter !== undefined) response.setHeader("retry-after", fault.retryAfter);
      const body = request.protocol === "ollama" ? ollamaError(text) : openaiError(text, fault.code);
      sendError(response, fault.status, body);
      return;
    }
    if (step.wire !== undefined) {
      const type = step.wire.startsWith("{") ? "application/json" : "text/event-stream; charset=utf-8";
      response.writeHead(200, { "content-type": type });
      response.end(step.wire);
      return;
    }
    const answer = this.#write(step, request);
    response.writeHead(200, { "content-type": answer.contentType, "cache-control": "no-cache" });
    if (fault === undefined && step.hold === undefined && (step.delayMs ?? 0) === 0) {
      response.end(answer.head + answer.lines.join("") + answer.tail);
      return;
    }
    await playSlowly(step, answer, response);
  }

  #write(step: ModelStep, request: ModelRequest): WireAnswer {
    const pieces = toPieces(step, () => `call_${this.#serial}_${++this.#lastId}`);
    const streamed = request.body.stream ?? request.protocol === "ollama";
    if (request.protocol === "ollama") {
      return streamed ? ollamaStream(step, pieces, request) : ollamaBody(step, pieces, request);
    }
    if (request.protocol === "responses") {
      const id = `resp_${this.#serial}_${++this.#lastId}`;
      return streamed ? responsesStream(id, step, pieces, request) : responsesBody(id, step, pieces, request);
    }
    const id = `chatcmpl-${this.#serial}-${++this.#lastId}`;
    return streamed ? openaiStream(id, step, pieces, request) : openaiBody(id, step, pieces, request);
  }

  #refuse(response: ServerResponse, text: string, protocol: Protocol | undefined): void {
    this.unexpected.push(text);
    sendError(response, 500, protocol === "ollama" ? ollamaError(text) : openaiError(text, "unexpected_request"));
  }
}

function protocolOf(path: string): Protocol | undefined {
  if (path.endsWith("/chat/completions")) return "openai";
  if (path.endsWith("/responses")) return "responses";
  return path === "/api/chat" ? "ollama" : undefined;
}

async function playSlowly(step: ModelStep, answer: WireAnswer, response: ServerResponse): Promise<void> {
  const fault = step.fault;
  response.write(answer.head);
  for (let index = 0; index <= answer.lines.length; index += 1) {
    if (step.hold?.after === index) await step.hold.until.catch(() => undefined);
    if (fault?.kind === "malformed" && index === Math.min(1, answer.lines.length)) response.write(answer.malformed);
    if ((fault?.kind === "stall" || fault?.kind === "cut") && fault.after === index) {
      if (fault.kind === "stall") return;
      await breakOff(fault.clean === true, response);
      return;
    }
    if (response.destroyed) return;
    const line = answer.lines[index];
    if (line === undefined) break;
    if (step.delayMs !== undefined && step.delayMs > 0) await delay(step.delayMs);
    response.write(line);
  }
  // A malformed body ends here.
  if (fault?.kind === "malformed" && answer.lines.length === 0) response.end();
  else response.end(answer.tail);
}

/** Ends a stream early: normally, or by destroying the connection after the written data was sent. */
async function breakOff(clean: boolean, response: ServerResponse): Promise<void> {
  if (clean) {
    response.end();
    return;
  }
  await new Promise<void>((resolve) => response.write(" ", () => resolve()));
  response.destroy();
}

function sendError(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(body);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  // Without an encoding set, a request gives Buffers.
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString("utf8");
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Starts a scripted model server. Close it in `finally`; call `assertFinished` to check that the whole script was used.
 */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  return await new ModelServer(options).listen();
}

/** A loopback address that refuses connections. */
export async function refusingAddress(): Promise<string> {
  const server = await startModelServer();
  const address = server.ollamaUrl;
  await server.close();
  return address;
}
