import { Agent, request as httpRequest, type IncomingMessage } from "node:http";
import { once } from "node:events";

const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** What a run sends; `assistant` is a graph id. */
export interface RunBody {
  assistant: string;
  input: Record<string, unknown>;
  context?: Record<string, unknown>;
  streamMode?: string[];
}

/** Times of one streamed run, ms from the request. */
export interface StreamTimes {
  firstToken: number;
  lastToken: number;
  end: number;
}

/** What a burst of runs took. Times are ms; `cpuMs` is per run. */
export interface Burst {
  p50: number;
  p99: number;
  runsPerSecond: number;
  cpuMs: number;
}

/** Sends JSON and gives the answer's JSON. Throws on any status but 2xx. */
export async function post(url: string, body: unknown): Promise<unknown> {
  const response = await send(url, body);
  const text = await textOf(response);
  return text.trim() === "" ? undefined : JSON.parse(text);
}

/** Makes empty threads. */
export async function createThreads(url: string, count: number): Promise<string[]> {
  const threads: string[] = [];
  for (let index = 0; index < count; index += 1) threads.push(threadId(await post(`${url}/threads`, {})));
  return threads;
}

/** One run by `/runs/wait` on an own thread; throws when the run failed. */
export async function waitRun(url: string, thread: string, body: RunBody): Promise<unknown> {
  const values = await post(`${url}/threads/${thread}/runs/wait`, payload(body));
  if (typeof values === "object" && values !== null && "__error__" in values) {
    throw new Error(`The run failed: ${JSON.stringify(values.__error__)}`);
  }
  return values;
}

/** One run by `/runs/stream`, read to its end; the first and last `messages` event are timed. */
export async function streamRun(url: string, thread: string, body: RunBody): Promise<StreamTimes> {
  const started = performance.now();
  const response = await send(`${url}/threads/${thread}/runs/stream`, {
    ...payload(body),
    stream_mode: body.streamMode ?? ["messages-tuple"],
  });
  let firstToken = 0;
  let lastToken = 0;
  let tail = "";
  for await (const part of response) {
    const text = tail + String(part);
    if (text.includes("event: error")) throw new Error(`The run failed: ${text.slice(0, 500)}`);
    if (text.includes("event: messages")) {
      lastToken = performance.now() - started;
      if (firstToken === 0) firstToken = lastToken;
    }
    // One letter less than the words looked for, so that nothing is seen twice.
    tail = text.slice(-("event: messages".length - 1));
  }
  return { firstToken, lastToken, end: performance.now() - started };
}

/** Time to the first piece of an answer of the model server itself, ms. */
export async function askModel(modelUrl: string): Promise<number> {
  const started = performance.now();
  const response = await send(`${modelUrl}/chat/completions`, {
    model: "bench",
    stream: true,
    messages: [{ role: "user", content: "hello" }],
  });
  let first = 0;
  for await (const part of response)
    if (first === 0 && String(part).includes("word0")) first = performance.now() - started;
  return first;
}

/** `total` pieces of work, `concurrency` at a time; the time of each. `cpu` is read before and after. */
export async function burst(
  options: { total: number; concurrency: number; cpu: () => number },
  work: (index: number) => Promise<unknown>,
): Promise<Burst> {
  const times: number[] = [];
  let next = 0;
  const cpuBefore = options.cpu();
  const started = performance.now();
  const worker = async (): Promise<void> => {
    while (next < options.total) {
      const index = next;
      next += 1;
      const begun = performance.now();
      await work(index);
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, worker));
  const seconds = (performance.now() - started) / 1000;
  const cpuMs = (options.cpu() - cpuBefore) / options.total;
  return { p50: percentile(times, 50), p99: percentile(times, 99), runsPerSecond: options.total / seconds, cpuMs };
}

/** The nearest-rank percentile. */
export function percentile(values: number[], rank: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil((rank / 100) * sorted.length) - 1)] ?? Number.NaN;
}

/** The id of a thread as the server answered it. */
export function threadId(thread: unknown): string {
  if (typeof thread === "object" && thread !== null && "thread_id" in thread) return String(thread.thread_id);
  throw new Error(`Expected a thread, got ${JSON.stringify(thread)}`);
}

function payload(body: RunBody): Record<string, unknown> {
  return {
    assistant_id: body.assistant,
    input: body.input,
    ...(body.context === undefined ? {} : { context: body.context }),
  };
}

async function send(url: string, body: unknown): Promise<IncomingMessage> {
  const text = JSON.stringify(body);
  const outgoing = httpRequest(url, {
    method: "POST",
    agent,
    headers: { "content-type": "application/json", "content-length": Buffer.byteLength(text) },
  });
  outgoing.end(text);
  // The first argument of a client's "response" event.
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  response.setEncoding("utf8");
  const status = response.statusCode ?? 0;
  if (status >= 200 && status < 300) return response;
  throw new Error(`POST ${url} answered ${status}: ${(await textOf(response)).slice(0, 500)}`);
}

async function textOf(response: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of response) text += String(part);
  return text;
}
