import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaseMessage } from "@langchain/core/messages";
import { afterEach, beforeEach, expect, it } from "vitest";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import type { Runs } from "@millrace/engine/runs/runs";
import type { Session } from "@millrace/engine/storage/records";
import type { Storage } from "@millrace/engine/storage/storage";
import { agentFiles, askedBy, hands, roundOf } from "../../agents/agent-flow.ts";
import { agentRuns } from "../../agents/agent-runs.ts";
import { openIn } from "../../runs/recovery/crash-copy.ts";
import { collect, createSession, never, request } from "../../runs/fixtures.ts";
import { withCopies } from "../../runs/recovery/storage-copies.ts";
import {
  startModelServer,
  wireText,
  type ModelRequest,
  type ModelServer,
  type ModelStep,
} from "@millrace/testing/model-server";
import { clarify } from "../../../src/prompts/templates/clarify.ts";
import { hasPrompt } from "../../support/system-text.ts";

let folder: string;
let model: ModelServer;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "millrace-questions-")));
  await mkdir(join(folder, "workspace", ".autocoderagents"), { recursive: true });
  for (const [path, text] of Object.entries(agentFiles({ one: {}, two: {} }))) {
    await writeFile(join(folder, "workspace", path), text);
  }
});
afterEach(async () => {
  await model.close();
  await rm(folder, { recursive: true });
});

const makes = (title: string): ModelStep => ({
  toolCalls: [{ name: "add_item", arguments: { title }, id: `make-${title}` }],
});
const asks = (question: string): ModelStep => ({
  toolCalls: [{ name: "ask_followup_question", arguments: { question }, id: question }],
});
const refuses: ModelStep = { fault: { kind: "status", status: 401 } };
const seen = ({ messages }: ModelRequest): string => messages.map(wireText).join("\n");

interface Case {
  name: string;
  userText: string;
  context: Record<string, unknown>;
  /** What the model says, when so many answers have been given. */
  script: (request: ModelRequest, answered: number) => ModelStep;
  /** The answers to the rounds of questions, each to all that are open. */
  answers: unknown[];
  /** Questions of all rounds, by what is asked. */
  asked: string[][];
  tasks: string[];
  types: string[];
}

const cases: Case[] = [
  {
    name: "a failed model call",
    userText: "Do the work",
    context: { mode: "free_work", on_error: "ask" },
    script: (request, answered) =>
      roundOf(request) === 0 ? makes("first") : answered < 3 ? refuses : { text: "All is done." },
    answers: ["Retry", "whatever you like", "Retry"],
    asked: [["auth"], ["auth"], ["auth unclear"]],
    tasks: ["first"],
    types: ["human", "ai", "tool", "ai"],
  },
  {
    name: "an unclear request",
    userText: "write a report",
    context: {},
    script: (request) =>
      hasPrompt(seen(request), clarify)
        ? { text: JSON.stringify({ guess: "A short one.", questions: ["Which mill?"] }) }
        : seen(request).includes("make-first")
          ? { text: "Here it is." }
          : roundOf(request) < 2
            ? makes("first")
            : { text: "Here it is." },
    answers: [42, "Windmills"],
    asked: [["clarify"], ["clarify unclear"]],
    tasks: ["first"],
    types: ["human", "ai", "human", "ai", "tool", "ai"],
  },
  ...(["parallel", "serial"] as const).map((mode) => ({
    name: `${mode} agents with questions`,
    userText: "Share the work",
    context: { mode: "free_work" },
    script: (asking: ModelRequest): ModelStep => {
      const who = askedBy(asking);
      if (who === "caller") {
        return roundOf(asking) === 0 ? hands(mode, { one: "Go", two: "Go" }) : { text: "All have reported." };
      }
      const script = [asks(`What does ${who} do?`), makes(`task of ${who}`), { text: `${who} is done.` }];
      return script[roundOf(asking)] ?? refuses;
    },
    answers: mode === "parallel" ? [42, "Paint it"] : [42, "Paint it", 42, "Paint it"],
    asked:
      mode === "parallel"
        ? [
            ["What does one do?", "What does two do?"],
            ["What does one do? unclear", "What does two do? unclear"],
          ]
        : [["What does one do?"], ["What does one do? unclear"], ["What does two do?"], ["What does two do? unclear"]],
    tasks: ["task of one", "task of two"],
    types: ["human", "ai", "tool", "ai"],
  })),
];

/** What a question asks, in a word. */
function about(value: unknown): string {
  // Every question of ours has a kind.
  const asked = value as { kind: string; error?: string; question: string; problem?: string };
  const subject = asked.kind === "followup" ? asked.question : (asked.error ?? asked.kind);
  return asked.problem === undefined ? subject : `${subject} unclear`;
}

async function openQuestions(storage: Storage, session: Session): Promise<{ id: string; value: unknown }[]> {
  const { interrupts } = (await storage.sessions.get(session.session_id)) ?? session;
  return Object.values(interrupts)
    .flat()
    .map(({ id, value }) => ({ id, value }));
}

/** Answers round after round until nothing is asked any more; what was asked. */
async function answerAll(
  { answers, context }: Case,
  at: { storage: Storage; session: Session; runs: Runs },
  onAnswer: (answered: number) => void,
  from: number,
): Promise<string[][]> {
  const rounds: string[][] = [];
  for (let round = from; ; round += 1) {
    const open = await openQuestions(at.storage, at.session);
    if (open.length === 0) return rounds;
    rounds.push(open.map(({ value }) => about(value)).toSorted());
    if (round >= answers.length) throw new Error(`One question too many: ${JSON.stringify(open)}`);
    onAnswer(round + 1);
    // The last round is answered without an id where that is possible.
    const isPlain = open.length === 1 && round === answers.length - 1;
    const resume = isPlain ? answers[round] : Object.fromEntries(open.map(({ id }) => [id, answers[round]]));
    const run = await at.runs.start(at.session, request("agent", { input: undefined, command: { resume }, context }));
    await collect(at.runs.follow(run.run_id, -1, never));
  }
}

it.each(cases)("asks the same, in the same order and once, wherever the process ended: $name", async (one) => {
  let answered = 0;
  model = await startModelServer({ handler: (asking) => one.script(asking, answered) });
  const file = openIn(folder);
  const copies: { path: string; answered: number }[] = [];
  const storage = withCopies(file, folder, (path) => copies.push({ path, answered }));
  const runs = agentRuns(storage, join(folder, "workspace"), model);
  const session = await createSession(file);
  const input = { messages: [{ role: "user", content: one.userText }] };
  const first = await runs.start(session, request("agent", { input, context: one.context }));
  await collect(runs.follow(first.run_id, -1, never));
  const countAnswers = (count: number): void => {
    answered = count;
  };
  expect(await answerAll(one, { storage: file, session, runs }, countAnswers, 0)).toEqual(one.asked);
  await runs.drain(0);
  await file.close();
  expect(copies.length).toBeGreaterThan(20);

  for (const [at, copy] of copies.entries()) {
    // Around an answer every point counts; else a sample.
    const isAnswer = copies[at - 1]?.answered !== copy.answered || copies[at - 2]?.answered !== copy.answered;
    if (!isAnswer && at % 12 !== 0) continue;
    const where = `point ${at} of ${copies.length}, ${copy.answered} answers`;
    answered = copy.answered;
    const found = openIn(copy.path);
    const after = agentRuns(found, join(folder, "workspace"), model);
    try {
      await after.recover();
      for (const run of await found.runs.list(session.session_id, { limit: 10, offset: 0 })) {
        await collect(after.follow(run.run_id, -1, never));
      }
      const asked = await answerAll(one, { storage: found, session, runs: after }, countAnswers, copy.answered);
      expect(asked, where).toEqual(one.asked.slice(copy.answered));
      await after.drain(0);
      const config = { configurable: { thread_id: session.session_id } };
      const values: unknown = (await found.checkpointer.getTuple(config))?.checkpoint.channel_values;
      // The workflow's state has messages.
      const { messages } = values as { messages: BaseMessage[] };
      expect(
        messages.map((message) => message.getType()),
        where,
      ).toEqual(one.types);
      expect(repairToolPairs(messages)).toBe(messages);
      const tasks = await found.tasks.find({ staging: true });
      expect(tasks.map(({ title }) => title).toSorted(), where).toEqual(one.tasks);
    } finally {
      await found.close();
    }
  }
  expect(model.unexpected).toEqual([]);
});
