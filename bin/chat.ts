import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { cancelRun, openQuestions, openThread, type ServerPlace, streamRun, type Told } from "./client.ts";

/** What `run` and `chat` are asked for. */
export interface ChatOptions extends ServerPlace {
  graph: string;
  thread: string | undefined;
}

const { stdout } = process;
const isColoured = stdout.isTTY && stdout.hasColors();

function dim(text: string): string {
  return isColoured ? styleText("dim", text, { validateStream: false }) : text;
}

/** Characters of arguments and results that are shown. */
const longestShown = 200;

function shortened(value: unknown): string {
  const text = (typeof value === "string" ? value : JSON.stringify(value)).replaceAll(/\s+/gu, " ");
  return text.length > longestShown ? `${text.slice(0, longestShown)}…` : text;
}

const Asked = z.object({ question: z.string() });

/** A question in its own words, where it has some. */
function questionText(value: unknown): string {
  return Asked.safeParse(value).data?.question ?? shortened(value);
}

function inputOf(message: string) {
  return { messages: [{ role: "user", content: message }] };
}

/** Shows what a run tells. `isOpen`: whether the last line has no end yet. */
function show(told: Told, isOpen: boolean): boolean {
  const line = (text: string): boolean => {
    stdout.write(`${isOpen ? "\n" : ""}${text}\n`);
    return false;
  };
  switch (told.type) {
    case "text":
      stdout.write(told.text);
      return !told.text.endsWith("\n");
    case "call":
      return line(dim(`→ ${told.name} ${shortened(told.arguments)}`));
    case "result":
      return line(dim(`← ${told.name} ${shortened(told.text)}`));
    case "failed":
      return line(`The run failed: ${told.message}`);
    case "question":
      return line(`? ${questionText(told.value)}`);
    case "begun":
      return isOpen;
  }
}

type Ask = (prompt: string) => Promise<string>;

/** One message, for scripts: the answer as text, or everything as lines of JSON. The result says whether it went well. */
export async function runOnce(
  message: string,
  { graph, thread: id, ...place }: ChatOptions,
  asJson: boolean,
): Promise<boolean> {
  const thread = await openThread(place, id);
  if (asJson) stdout.write(`${JSON.stringify({ type: "thread", thread_id: thread })}\n`);
  let isOpen = false;
  let isWell = true;
  for await (const told of streamRun(place, thread, { graph, input: inputOf(message) })) {
    if (told.type === "failed" || told.type === "question") isWell = false;
    if (asJson) stdout.write(`${JSON.stringify(told)}\n`);
    else isOpen = show(told, isOpen);
  }
  if (isOpen) stdout.write("\n");
  return isWell;
}

/** Asks for lines. Ctrl-C ends it while it asks, and otherwise calls `onInterrupt`; after `ended` asking throws. */
function openTerminal(onInterrupt: () => void): { ask: Ask; ended: AbortSignal; close(): void } {
  const lines = createInterface({ input: process.stdin, output: stdout });
  const ended = new AbortController();
  let isAsking = false;
  lines.on("SIGINT", () => (isAsking ? ended.abort() : onInterrupt()));
  lines.on("close", () => ended.abort());
  const ask: Ask = (prompt) =>
    new Promise((resolve, reject) => {
      ended.signal.throwIfAborted();
      ended.signal.addEventListener("abort", reject, { once: true });
      isAsking = true;
      lines.question(prompt, (text) => {
        // A Ctrl-C that was typed right behind the line is meant for its answer.
        isAsking = false;
        ended.signal.removeEventListener("abort", reject);
        resolve(text);
      });
    });
  return { ask, ended: ended.signal, close: () => lines.close() };
}

/** A conversation in the terminal. Ctrl-C stops the run, and with none under way it ends the conversation. */
export async function chat({ graph, thread: id, ...place }: ChatOptions): Promise<void> {
  const thread = await openThread(place, id);
  stdout.write(
    `${dim(`Thread ${thread} with ${graph}. Ctrl-C stops an answer, /quit ends; --thread ${thread} goes on later.`)}\n`,
  );
  let isStopWanted = false;
  let stop: (() => void) | undefined;
  const terminal = openTerminal(() => {
    // Before the id of the run has come, there is nothing to stop yet.
    isStopWanted = true;
    stop?.();
  });

  const answer = async (request: { input?: unknown; command?: unknown }): Promise<unknown[]> => {
    let isOpen = false;
    const questions: unknown[] = [];
    try {
      for await (const told of streamRun(place, thread, { graph, ...request })) {
        if (told.type === "begun") {
          stop = () => void cancelRun(place, thread, told.run_id).then(() => stdout.write(dim("\n(stopped)\n")));
          if (isStopWanted) stop();
        }
        if (told.type === "question") questions.push(told.value);
        else isOpen = show(told, isOpen);
      }
    } finally {
      stop = undefined;
      isStopWanted = false;
    }
    if (isOpen) stdout.write("\n");
    return questions;
  };

  try {
    let questions = await openQuestions(place, thread);
    for (;;) {
      if (questions.length > 0) {
        questions = await answer({ command: { resume: await decide(questions[0], terminal.ask) } });
        continue;
      }
      const message = (await terminal.ask("> ")).trim();
      if (message === "/quit") return;
      if (message !== "") questions = await answer({ input: inputOf(message) });
    }
  } catch (error) {
    if (!terminal.ended.aborted) throw error;
  } finally {
    terminal.close();
  }
}

/** The person's answer to a question: yes or no where calls are to be approved, else what is typed. */
async function decide(question: unknown, ask: Ask): Promise<unknown> {
  stdout.write(`? ${questionText(question)}\n`);
  const isApproval = typeof question === "object" && question !== null && "action_requests" in question;
  if (!isApproval) return ask("Your answer: ");
  const { action_requests: calls } = question;
  if (!Array.isArray(calls)) throw new AppError("invalid_format", "The question names no calls to decide about.");
  const said = (await ask("Approve? y, or why not: ")).trim();
  const isYes = /^(y|yes|是|好|同意)$/iu.test(said);
  const decision = isYes ? { type: "approve" } : { type: "reject", ...(said !== "" && { message: said }) };
  return { decisions: calls.map(() => decision) };
}
