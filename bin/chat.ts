import { createInterface } from "node:readline";
import { styleText } from "node:util";
import { z } from "zod";
import { environmentVariable } from "@millrace/engine/config/config";
import {
  cancelRun,
  defaultUrl,
  openQuestions,
  openThread,
  type Question,
  type ServerPlace,
  streamRun,
  type RunOutput,
} from "./client.ts";

/** Options of `run` and `chat`. */
export interface ChatOptions extends ServerPlace {
  graph: string;
  thread: string | undefined;
}

/** Messages to the person, by the terminal's language. */
const texts = {
  en: {
    begin: (thread: string, graph: string) =>
      `Thread ${thread} with ${graph}. Ctrl-C stops an answer, /quit ends, --thread with this id goes on later.`,
    waits: (command: string) => `The run waits for a person. Answer it with: ${command}`,
    approve: "Approve? y, or why not: ",
    answer: "Your answer: ",
    stopped: "(stopped)",
    failed: "The run failed: ",
  },
  zh: {
    begin: (thread: string, graph: string) =>
      `会话 ${thread}（${graph}）。Ctrl-C 停止回答，/quit 结束，以后用 --thread 加此编号继续。`,
    waits: (command: string) => `运行正在等待人的回答。回答请用：${command}`,
    approve: "是否批准？输入 y，或说明拒绝的理由：",
    answer: "你的回答：",
    stopped: "（已停止）",
    failed: "运行失败：",
  },
};
const locale = ["LC_ALL", "LC_MESSAGES", "LANG"].map(environmentVariable).find((value) => value);
const messages = texts[locale?.startsWith("zh") === true ? "zh" : "en"];

const { stdout } = process;
const isColoured = stdout.isTTY && stdout.hasColors();

function dim(text: string): string {
  return isColoured ? styleText("dim", text, { validateStream: false }) : text;
}

/** Maximum characters of arguments and results where lines may have any length. */
const longestShown = 200;

function shortened(value: unknown, longest = longestShown): string {
  const text = (typeof value === "string" ? value : JSON.stringify(value)).replaceAll(/\s+/gu, " ");
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/** A line about a call, at most as wide as the terminal. */
function callLine(arrow: "→" | "←", name: string, rest: unknown): string {
  return dim(shortened(`${arrow} ${name} ${shortened(rest)}`, stdout.isTTY ? stdout.columns - 1 : Infinity));
}

const QuestionBody = z.object({ question: z.string() });

/** A question's text, if it has one. */
function questionText(value: unknown): string {
  return QuestionBody.safeParse(value).data?.question ?? shortened(value);
}

function inputOf(message: string) {
  return { messages: [{ role: "user", content: message }] };
}

/** Prints an event of a run. `isOpen`: whether the last line is unfinished. */
function show(output: RunOutput, isOpen: boolean): boolean {
  const line = (text: string): boolean => {
    stdout.write(`${isOpen ? "\n" : ""}${text}\n`);
    return false;
  };
  switch (output.type) {
    case "text":
      stdout.write(output.text);
      return !output.text.endsWith("\n");
    case "call":
      return line(callLine("→", output.name, output.arguments));
    case "result":
      return line(callLine("←", output.name, output.text));
    case "failed":
      return line(`${messages.failed}${output.message}`);
    case "question":
      return line(`? ${questionText(output.value)}`);
    case "begun":
      return isOpen;
  }
}

/** `message` accepts lines typed before the prompt; a `decision` must be typed after its question was shown. */
type Ask = (prompt: string, kind: "message" | "decision") => Promise<string>;

/**
 * Sends one message, for scripts: prints the answer as text, or all events as JSON lines. Returns whether it succeeded.
 */
export async function runOnce(
  message: string,
  { graph, thread: id, ...place }: ChatOptions,
  asJson: boolean,
): Promise<boolean> {
  const thread = await openThread(place, id);
  if (asJson) stdout.write(`${JSON.stringify({ type: "thread", thread_id: thread })}\n`);
  let isOpen = false;
  let isWell = true;
  let waits = false;
  for await (const output of streamRun(place, thread, { graph, input: inputOf(message) })) {
    if (output.type === "failed" || output.type === "question") isWell = false;
    waits ||= output.type === "question";
    if (asJson) stdout.write(`${JSON.stringify(output)}\n`);
    else isOpen = show(output, isOpen);
  }
  if (isOpen) stdout.write("\n");
  // On stderr, so that scripts do not read it.
  if (waits) sayThatItWaits(place, thread, graph);
  return isWell;
}

/** Says on stderr by which command an open question can be answered. */
function sayThatItWaits({ url }: ServerPlace, thread: string, graph: string): void {
  const server = url === defaultUrl ? "" : `--url ${url} `;
  process.stderr.write(`${messages.waits(`millrace chat ${server}--graph ${graph} --thread ${thread}`)}\n`);
}

/** Reads lines. Ctrl-C closes it while it asks, and otherwise calls `onInterrupt`; after `ended`, asking throws. */
function openTerminal(onInterrupt: () => void): { ask: Ask; ended: AbortSignal; close(): void } {
  const lines = createInterface({ input: process.stdin, output: stdout });
  const ended = new AbortController();
  const typedAhead: string[] = [];
  let isAsking = false;
  lines.on("SIGINT", () => (isAsking ? ended.abort() : onInterrupt()));
  lines.on("close", () => ended.abort());
  // Only lines typed outside a prompt arrive here.
  lines.on("line", (text) => typedAhead.push(text));
  const ask: Ask = (prompt, kind) =>
    new Promise((resolve, reject) => {
      const early = kind === "message" ? typedAhead.shift() : undefined;
      if (early !== undefined) {
        stdout.write(`${prompt}${early}\n`);
        resolve(early);
        return;
      }
      ended.signal.throwIfAborted();
      ended.signal.addEventListener("abort", reject, { once: true });
      isAsking = true;
      lines.question(prompt, (text) => {
        // A Ctrl-C typed right after the line is meant for its answer.
        isAsking = false;
        ended.signal.removeEventListener("abort", reject);
        resolve(text);
      });
    });
  return { ask, ended: ended.signal, close: () => lines.close() };
}

/** A conversation in the terminal. Ctrl-C stops the active run, or without one ends the conversation. */
export async function chat({ graph, thread: id, ...place }: ChatOptions): Promise<void> {
  const thread = await openThread(place, id);
  stdout.write(`${dim(messages.begin(thread, graph))}\n`);
  let isStopWanted = false;
  let stop: (() => void) | undefined;
  const terminal = openTerminal(() => {
    // Until the run's id is known there is nothing to stop.
    isStopWanted = true;
    stop?.();
  });

  const answer = async (request: { input?: unknown; command?: unknown }): Promise<Question[]> => {
    let isOpen = false;
    let stopped: Promise<void> | undefined;
    const questions: Question[] = [];
    try {
      for await (const output of streamRun(place, thread, { graph, ...request })) {
        if (output.type === "begun") {
          stop = () => void (stopped ??= cancelRun(place, thread, output.run_id));
          if (isStopWanted) stop();
        }
        if (output.type === "question") questions.push(output);
        else isOpen = show(output, isOpen);
      }
    } finally {
      stop = undefined;
      isStopWanted = false;
    }
    if (isOpen) stdout.write("\n");
    if (stopped !== undefined) {
      await stopped;
      stdout.write(`${dim(messages.stopped)}\n`);
    }
    if (questions.length === 0) stdout.write("\n");
    return questions;
  };

  let questions: Question[] = [];
  try {
    questions = await openQuestions(place, thread);
    for (;;) {
      if (questions.length > 0) {
        const resume = await answersTo(questions, terminal.ask);
        questions = [];
        questions = await answer({ command: { resume } });
        continue;
      }
      const message = (await terminal.ask("> ", "message")).trim();
      if (message === "/quit") return;
      if (message !== "") questions = await answer({ input: inputOf(message) });
    }
  } catch (error) {
    if (!terminal.ended.aborted) throw error;
    if (questions.length > 0) {
      stdout.write("\n");
      sayThatItWaits(place, thread, graph);
    }
  } finally {
    terminal.close();
  }
}

/** The person's answers to a run's questions: one answer, or answers by question id. */
async function answersTo(questions: readonly Question[], ask: Ask): Promise<unknown> {
  const answers: [string, unknown][] = [];
  for (const { id, value } of questions) answers.push([id, await answerTo(value, ask)]);
  return answers.length === 1 ? answers[0]?.[1] : Object.fromEntries(answers);
}

const Calls = z.array(z.object({ name: z.string(), args: z.unknown() })).min(1);
/** A question about running calls, as LangChain's Python or JavaScript middleware spells it. */
const Approval = z.union([
  z.object({ action_requests: Calls }).transform((body) => body.action_requests),
  z.object({ actionRequests: Calls }).transform((body) => body.actionRequests),
]);

/** The person's answer to one question: yes or no per call to approve, else free text. */
async function answerTo(question: unknown, ask: Ask): Promise<unknown> {
  stdout.write(`? ${questionText(question)}\n`);
  const { data: calls } = Approval.safeParse(question);
  if (calls === undefined) return ask(messages.answer, "decision");
  const decisions = [];
  for (const { name, args } of calls) {
    if (calls.length > 1) stdout.write(`${dim(`→ ${name} ${shortened(args)}`)}\n`);
    const words = (await ask(messages.approve, "decision")).trim();
    const isAffirmative = /^(y|yes|是|好|同意)$/iu.test(words);
    decisions.push(isAffirmative ? { type: "approve" } : { type: "reject", ...(words !== "" && { message: words }) });
  }
  return { decisions };
}
