import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { readEffects, type EffectCount } from "./effect-log.ts";
import { callsOf, lastWords, plannedFiles, shapes, type Shape } from "./script.ts";
import {
  getRun,
  getThread,
  newThread,
  readMessages,
  startRun,
  textOf,
  type StateMessage,
  type World,
} from "./world.ts";

/** One run that a fault will hit, and what it must have come to afterwards. */
export interface Subject {
  shape: Shape;
  item: string;
  threadId: string;
  runId: string;
}

/** What is wrong with a subject, by kind. */
export interface Findings {
  lost: string[];
  duplicates: string[];
  unended: string[];
  unreported: string[];
  /** Calls reported as unknown; not a fault, but each must be one whose outcome cannot be known. */
  unknown: number;
}

/** Nothing found yet. */
export function noFindings(): Findings {
  return { lost: [], duplicates: [], unended: [], unreported: [], unknown: 0 };
}

/** Has a run of this shape accepted on a thread of its own. */
export async function beginSubject({ server }: World, shape: Shape, item: string): Promise<Subject> {
  const threadId = await newThread(server);
  const { run_id: runId } = await startRun(server, threadId, {
    assistant_id: shapes[shape],
    input: { messages: [{ role: "user", content: `please do ${shape} ${item}` }] },
    ...(shape === "plan" ? { context: { mode: "plan" } } : {}),
  });
  return { shape, item, threadId, runId };
}

/** Says yes to what the subject's thread waits for: a new run, which the subject then stands for. */
export async function approveSubject({ server }: World, subject: Subject): Promise<void> {
  const { run_id } = await startRun(server, subject.threadId, {
    assistant_id: shapes[subject.shape],
    command: { resume: { decisions: [{ type: "approve" }] } },
  });
  subject.runId = run_id;
}

/**
 * How a subject's run ended, with the error of one that failed, or `undefined` when it had not after `patience` milliseconds.
 * `waiting`: for an answer. `at`: where each look goes, `pause` milliseconds after the one before.
 */
export async function settled(
  at: World | (() => World),
  subject: Pick<Subject, "threadId" | "runId">,
  patience: number,
  pause = 20,
): Promise<{ status: string; waiting: boolean; error?: string | undefined } | undefined> {
  const deadline = performance.now() + patience;
  while (performance.now() < deadline) {
    const { server } = typeof at === "function" ? at() : at;
    const run = await getRun(server, subject.threadId, subject.runId);
    if (run === undefined) return { status: "missing", waiting: false };
    if (run.status !== "pending" && run.status !== "running") {
      const thread = await getThread(server, subject.threadId);
      return { status: run.status, waiting: thread.status === "interrupted", error: thread.error?.message };
    }
    await delay(pause);
  }
  return undefined;
}

/** Compares a subject whose run is over with what it was to do, and with the tools' own record. */
export async function judge(world: World, subject: Subject, findings: Findings): Promise<void> {
  const { shape, item } = subject;
  const messages = await readMessages(world.server, subject.threadId);
  // After the history: a run that is late goes on, and what it wrote in between is in the record then.
  const effects = readEffects(world.effectsFile);
  const asked = messages.filter(({ type, content }) => type === "human" && content === `please do ${shape} ${item}`);
  if (asked.length !== 1) findings.lost.push(`${item}: its message is there ${asked.length} times`);
  const last = messages.at(-1);
  if (last?.type !== "ai" || textOf(last) !== lastWords(shape, item)) {
    findings.unended.push(`${item}: the last message is ${last?.type} ${JSON.stringify(last?.content)?.slice(0, 80)}`);
  }
  for (const call of callsOf(shape, item).flat()) judgeCall(call, messages, effects, findings);
  for (const path of shape === "plan" ? plannedFiles(item) : []) {
    if (contentOf(join(world.workspace, path)) !== `of ${item}`) findings.lost.push(`${item}: ${path} is not written`);
  }
}

function judgeCall(
  call: { name: string; item: string },
  messages: readonly StateMessage[],
  effects: Map<string, EffectCount>,
  findings: Findings,
): void {
  const name = `${call.name} ${call.item}`;
  const { begun, done } = effects.get(name) ?? { begun: 0, done: 0 };
  const isUnsafe = call.name !== "set_again";
  const results = messages.filter((message) => message.tool_call_id === `${call.item}-${call.name}`);
  const [result] = results;
  if (results.length !== 1 || result === undefined) {
    findings.unended.push(`${name} has ${results.length} results`);
    return;
  }
  const isUnknown = textOf(result).includes("not known");
  if (isUnknown) findings.unknown += 1;
  if (isUnsafe && begun > 1) findings.duplicates.push(`${name} happened ${begun} times`);
  const isCertain = textOf(result).includes(`${call.name} did ${call.item}`);
  if (isCertain && done === 0) findings.unreported.push(`${name} is reported as done, and was not (${begun} begun)`);
  if (!isCertain && !isUnknown) findings.unreported.push(`${name}: ${textOf(result).slice(0, 120)}`);
}

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
