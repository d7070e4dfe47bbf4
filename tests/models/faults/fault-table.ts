import type { ErrorCode } from "@millrace/engine/errors/errors";
import type { ModelStep } from "@millrace/testing/model-server-script";
import type { Exchange, Play, Wire } from "./fault-server.ts";

/** How a case may end: with an answer in words, or with one of our errors. */
export type Outcome = ErrorCode | "answered";

/** One thing that goes wrong on the way to a model (part 2.4 of reliability.md). */
export interface Fault {
  name: string;
  play: Play;
  outcome: Outcome | ((wire: Wire, isStreamed: boolean) => Outcome);
  /** It ends by a time-out, so the time-outs are short. */
  isSlow?: true;
  /** Streamed it gives no word: the answer is asked for in one piece, and the next one is good (LLM-24). */
  isUnstreamable?: true;
  /** Words are out before it breaks: where it is streamed they stay. */
  isBegun?: true;
  /** Where to ask instead of the server that plays. */
  address?: "refusing" | "unknown" | "tls" | "silent-tls";
}

/** Long enough to be kept (STOP-08). */
export const beginning = "The beginning of an answer that is so long that its loss would be a pity for the user. ";
const words: ModelStep = { chunks: [beginning, "More ", "and more."] };
const whole: ModelStep = { text: "This is a whole answer." };
const call = (args: string): ModelStep => ({ toolCalls: [{ name: "create_file", arguments: args, id: "call_1" }] });
const wholeCall = call('{"path":"half.txt","content":"half"}');

const status =
  (code: number, text = "scripted", headers: Record<string, string> = {}, name?: string): Play =>
  (exchange) =>
    exchange.refuse(code, text, headers, name);

/** Ends a good answer of which so much is out as if nothing more had been meant. */
const endAfter =
  (step: ModelStep): Play =>
  async (exchange) => {
    await exchange.begin(step);
    exchange.response.end();
  };

const breakAfter =
  (step: ModelStep): Play =>
  async (exchange) => {
    await exchange.begin(step);
    exchange.response.socket?.resetAndDestroy();
  };

/** Answers 200 with these bytes. */
const say =
  (body: string | Buffer, contentType = "text/event-stream"): Play =>
  ({ response }) => {
    response.writeHead(200, { "content-type": contentType });
    response.end(body);
  };

/** Says something again and again until the client has gone. */
function repeat({ response }: Exchange, text: string): void {
  const timer = setInterval(() => response.write(text), 5);
  response.on("close", () => clearInterval(timer));
}

/** What a client takes for a sign of life and no content. */
function keepAlive({ wire, isStreamed, write }: Exchange): string {
  if (!isStreamed) return " ";
  return wire === "ollama" ? (write({ chunks: [""] }).lines[0] ?? "\n") : ": keep-alive\n\n";
}

/** A stream without its end has broken off; a body without its end cannot be read. */
const noEnd = (_wire: Wire, isStreamed: boolean): Outcome => (isStreamed ? "network" : "server");

const connection: Fault[] = [
  { name: "a refused connection", play: () => undefined, address: "refusing", outcome: "network" },
  { name: "an unknown name", play: () => undefined, address: "unknown", outcome: "network" },
  { name: "a server that does not speak TLS", play: () => undefined, address: "tls", outcome: "network" },
  {
    name: "a connection that is never made",
    play: () => undefined,
    address: "silent-tls",
    isSlow: true,
    outcome: "timeout",
  },
  {
    name: "a reset before the headers",
    play: ({ response }) => void response.socket?.resetAndDestroy(),
    outcome: "network",
  },
  { name: "an end before the headers", play: ({ response }) => void response.socket?.end(), outcome: "network" },
  { name: "no answer at all", play: () => undefined, isSlow: true, outcome: "timeout" },
  {
    name: "headers and then nothing",
    play: ({ response }) => response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(),
    isSlow: true,
    isUnstreamable: true,
    outcome: "timeout",
  },
  {
    name: "what is no HTTP",
    play: ({ response }) => void response.socket?.end("220 mail.example ESMTP\r\n\r\n"),
    outcome: "network",
  },
  {
    name: "less than the announced length",
    async play(exchange) {
      exchange.response.setHeader("content-length", "100000");
      await exchange.begin(words);
      exchange.response.destroy();
    },
    isBegun: true,
    outcome: "network",
  },
];

const refusals: Fault[] = [
  { name: "429", play: status(429), outcome: "rate_limit" },
  { name: "429 for some seconds", play: status(429, "slow down", { "retry-after": "7" }), outcome: "rate_limit" },
  {
    name: "429 until a date",
    play: status(429, "slow down", { "retry-after": "Wed, 21 Oct 2065 07:28:00 GMT" }),
    outcome: "rate_limit",
  },
  { name: "429 with nonsense", play: status(429, "slow down", { "retry-after": "soon" }), outcome: "rate_limit" },
  { name: "429 without credit", play: status(429, "You exceeded your current quota"), outcome: "quota" },
  { name: "500", play: status(500), outcome: "server" },
  {
    name: "502 in HTML",
    play({ response }) {
      response.writeHead(502, { "content-type": "text/html" });
      response.end("<html><h1>Bad gateway</h1></html>");
    },
    outcome: "server",
  },
  { name: "503", play: status(503), outcome: "server" },
  { name: "529", play: status(529), outcome: "server" },
  { name: "408", play: status(408), outcome: "timeout" },
  {
    name: "400 for a long context",
    play: status(400, "maximum context length is 10 tokens"),
    outcome: "context_overflow",
  },
  { name: "400", play: status(400, "strange field"), outcome: "api_error" },
  { name: "401 with the key", play: status(401, "bad key sk-secret-1234567"), outcome: "auth" },
  { name: "403", play: status(403), outcome: "auth" },
  { name: "404", play: status(404, "no such model"), outcome: "not_found" },
];

const halfWay: Fault[] = [
  {
    name: "silence in the middle",
    play: async (exchange) => await exchange.begin(words),
    isSlow: true,
    isBegun: true,
    outcome: "timeout",
  },
  {
    name: "only signs of life after the beginning",
    async play(exchange) {
      await exchange.begin(words);
      repeat(exchange, keepAlive(exchange));
    },
    isSlow: true,
    isBegun: true,
    outcome: "timeout",
  },
  {
    name: "only signs of life",
    play(exchange) {
      exchange.response.writeHead(200, { "content-type": exchange.write(words).contentType });
      repeat(exchange, keepAlive(exchange));
    },
    isSlow: true,
    isUnstreamable: true,
    outcome: "timeout",
  },
  {
    name: "an end in the middle",
    play: endAfter(words),
    isBegun: true,
    outcome: noEnd,
  },
  { name: "a reset in the middle", play: breakAfter(words), isBegun: true, outcome: "network" },
  {
    name: "a break in the middle of a character",
    async play(exchange) {
      await exchange.begin(words);
      const rest = Buffer.from(exchange.write({ chunks: ["电"] }).lines.join("") || "电");
      const at = rest.indexOf(Buffer.from("电"));
      await new Promise<void>((resolve) => exchange.response.write(rest.subarray(0, at + 1), () => resolve()));
      exchange.response.destroy();
    },
    isBegun: true,
    outcome: "network",
  },
  {
    name: "an end in the middle of a call",
    play: endAfter(call('{"path":"half.txt","conte')),
    outcome: noEnd,
  },
  {
    name: "an end after a call that looks whole",
    play: endAfter(wholeCall),
    outcome: noEnd,
  },
  { name: "a reset after a call that looks whole", play: breakAfter(wholeCall), outcome: "network" },
  {
    name: "an error in the middle",
    async play(exchange) {
      await exchange.begin(words);
      const { response, wire } = exchange;
      response.end(wire === "ollama" ? '{"error":"overloaded"}\n' : 'data: {"error":{"message":"overloaded"}}\n\n');
    },
    isBegun: true,
    outcome: "server",
  },
  {
    name: "a line that is no JSON",
    async play(exchange) {
      await exchange.begin(words);
      exchange.response.end(exchange.write(words).malformed + exchange.write(words).tail);
    },
    isBegun: true,
    outcome: "server",
  },
];

const bodies: Fault[] = [
  {
    name: "a page of HTML",
    play: say("<html>Please sign in</html>", "text/html"),
    isUnstreamable: true,
    outcome: "server",
  },
  { name: "an empty body", play: say(""), isUnstreamable: true, outcome: "server" },
  {
    name: "a refusal to stream",
    play(exchange) {
      if (exchange.isStreamed) exchange.refuse(400, "You must be verified to stream this model.");
      else exchange.answer(whole);
    },
    isUnstreamable: true,
    outcome: "answered",
  },
  {
    name: "no mark after the last piece",
    play(exchange) {
      const { contentType, head, lines, tail } = exchange.write(whole);
      exchange.response.writeHead(200, { "content-type": contentType });
      exchange.response.end(
        head +
          lines.join("") +
          tail.replace("data: [DONE]\n\n", "").trimEnd() +
          (exchange.wire === "ollama" ? "" : "\n\n"),
      );
    },
    outcome: "answered",
  },
  {
    name: "two endings",
    play(exchange) {
      const { contentType, head, lines, tail } = exchange.write(whole);
      const ending = exchange.isStreamed ? tail.replace("data: [DONE]\n\n", "") : "";
      exchange.response.writeHead(200, { "content-type": contentType });
      exchange.response.end(head + lines.join("") + ending + tail);
    },
    outcome: "answered",
  },
  {
    name: "an answer without an end",
    play(exchange) {
      const { contentType, head, lines } = exchange.write({ chunks: [beginning] });
      exchange.response.writeHead(200, { "content-type": contentType });
      exchange.response.write(head);
      repeat(exchange, lines[0] ?? " ");
    },
    isSlow: true,
    isBegun: true,
    outcome: "timeout",
  },
  {
    name: "an answer of 5 MB",
    play(exchange) {
      const { contentType, head, lines, tail } = exchange.write({
        chunks: Array(50).fill(beginning + "x".repeat(100_000)) as string[],
      });
      exchange.response.writeHead(200, { "content-type": contentType });
      exchange.response.end(head + lines.join("") + tail);
    },
    isBegun: true,
    outcome: "too_large",
  },
  { name: "no words", play: whatIs({ text: "" }), outcome: "answered" },
  { name: "thoughts and no words", play: whatIs({ reasoning: "Let me think about that." }), outcome: "answered" },
  { name: "arguments that are no JSON", play: whatIs(call("{path: half.txt")), outcome: "answered" },
  {
    name: "a tool that is not there",
    play: whatIs({ toolCalls: [{ name: "no_such", arguments: {} }] }),
    outcome: "answered",
  },
  {
    name: "arguments of wrong types",
    play: whatIs({ toolCalls: [{ name: "create_file", arguments: { path: 7, content: [] } }] }),
    outcome: "answered",
  },
];

function whatIs(step: ModelStep): Play {
  return (exchange) => exchange.answer(step);
}

/** Every fault; each is tried in three wire formats, streamed and not. */
export const faults: readonly Fault[] = [...connection, ...refusals, ...halfWay, ...bodies];
