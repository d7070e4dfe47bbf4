import { z } from "zod";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";

/** A server's address and key. */
export interface ServerPlace {
  url: string;
  key: string | undefined;
}

/** Where a server listens if nothing else is said. */
export const defaultUrl = "http://127.0.0.1:2024";

/** An open question of a run: its interrupt's id and its content. */
export interface Question {
  type: "question";
  id: string;
  value: unknown;
}

/** An event of a run, as a terminal shows it. */
export type RunOutput =
  | { type: "text"; text: string }
  | { type: "call"; name: string; arguments: unknown }
  | { type: "result"; name: string; text: string }
  | Question
  | { type: "failed"; error: string; message: string }
  | { type: "begun"; run_id: string };

const Chunk = z.looseObject({
  type: z.string(),
  content: z.unknown().optional(),
  name: z.string().nullish(),
  tool_calls: z.array(z.looseObject({ name: z.string(), args: z.unknown() })).optional(),
});
const Metadata = z.object({ run_id: z.string() });
const Failure = z.object({ error: z.string(), message: z.string() });
const Thread = z.object({ thread_id: z.string() });
const State = z.object({
  tasks: z.array(z.object({ interrupts: z.array(z.object({ id: z.string(), value: z.unknown() })) })),
  values: z.object({ messages: z.array(Chunk).optional() }).nullish(),
});

/** The server's answer to invalid values. */
const Wrong = z.object({
  error: z.object({
    issues: z.array(z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() })),
  }),
});

/** Sends a request; throws a clear error if the server is unreachable or refuses. */
async function send({ url, key }: ServerPlace, method: string, path: string, body?: unknown, signal?: AbortSignal) {
  const headers = { "content-type": "application/json", ...(key !== undefined && { "x-api-key": key }) };
  const sent = body === undefined ? null : JSON.stringify(body);
  const response = await fetch(`${url}${path}`, { method, headers, body: sent, signal: signal ?? null }).catch(
    (error: unknown) => {
      if (signal?.aborted === true) throw error;
      const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
      throw new AppError("network", `No server answers at ${url}: ${errorMessage(cause)}.`, {
        suggestion: "Start one with millrace start or millrace dev, or name another with --url.",
      });
    },
  );
  if (response.ok) return response;
  const text = reasonOf(await response.text());
  throw new AppError(
    response.status === 401 ? "auth" : "api_error",
    `The server answered ${response.status}: ${text}`,
    {
      suggestion: remedies[response.status],
    },
  );
}

/** Remedies by status of the response. */
const remedies: Readonly<Record<number, string>> = {
  401: "Give the key with --key, or in MILLRACE_API_KEY.",
  404: "Name a graph or an assistant that is served with --graph.",
};

/** The reason in an error response. */
function reasonOf(answer: string): string {
  const { data } = Wrong.safeParse(parsedJson(answer));
  return data === undefined
    ? answer
    : data.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Most refusals are plain text.
    return undefined;
  }
}

/** The thread with this id, created if missing; a new one without an id. */
export async function openThread(place: ServerPlace, id?: string): Promise<string> {
  const body = id === undefined ? {} : { thread_id: id, if_exists: "do_nothing" };
  return Thread.parse(await (await send(place, "POST", "/threads", body)).json()).thread_id;
}

/** The open questions of a thread. */
export async function openQuestions(place: ServerPlace, thread: string): Promise<Question[]> {
  const state = State.parse(await (await send(place, "GET", `/threads/${thread}/state`)).json());
  return state.tasks.flatMap(({ interrupts }) => interrupts.map((interrupt) => ({ type: "question", ...interrupt })));
}

/** Stops a run; resolves when its end is written. */
export async function cancelRun(place: ServerPlace, thread: string, run: string): Promise<void> {
  const response = await send(place, "POST", `/threads/${thread}/runs/${run}/cancel?wait=1`);
  // An unread body keeps its connection, and so the program, open.
  await response.arrayBuffer();
}

/** Starts a run and yields its events until it ends, then its open questions. */
export async function* streamRun(
  place: ServerPlace,
  thread: string,
  request: { graph: string; input?: unknown; command?: unknown },
  signal?: AbortSignal,
): AsyncGenerator<RunOutput> {
  const { graph: assistant_id, ...what } = request;
  const body = { assistant_id, ...what, stream_mode: ["messages-tuple"] };
  const response = await send(place, "POST", `/threads/${thread}/runs/stream`, body, signal);
  for await (const { event, data } of eventsOf(response)) {
    if (event === "metadata") yield { type: "begun", ...Metadata.parse(data) };
    else if (event === "error") yield { type: "failed", ...Failure.parse(data) };
    else if (event === "messages" && Array.isArray(data)) yield* partsOf(Chunk.parse(data[0]));
  }
  yield* await openQuestions(place, thread);
}

function* partsOf({ type, content, name, tool_calls = [] }: z.infer<typeof Chunk>): Generator<RunOutput> {
  const text = textOf(content);
  if (type === "tool") yield { type: "result", name: name ?? "tool", text };
  if (!/^(ai|AIMessage)/u.test(type)) return;
  if (text !== "") yield { type: "text", text };
  for (const call of tool_calls) if (call.name !== "") yield { type: "call", name: call.name, arguments: call.args };
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const Text = z.object({ type: z.literal("text"), text: z.string() });
  return content.map((part) => Text.safeParse(part).data?.text ?? "").join("");
}

/** The server-sent events of a response. */
async function* eventsOf(response: Response): AsyncGenerator<{ event: string; data: unknown }> {
  let rest = "";
  for await (const part of (response.body ?? new ReadableStream<Uint8Array>()).pipeThrough(new TextDecoderStream())) {
    const blocks = (rest + part).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const lines = block.split("\n");
      const event = lines.find((line) => line.startsWith("event: "))?.slice("event: ".length);
      const data = lines.find((line) => line.startsWith("data: "))?.slice("data: ".length);
      if (event !== undefined && data !== undefined) yield { event, data: JSON.parse(data) };
    }
  }
}
