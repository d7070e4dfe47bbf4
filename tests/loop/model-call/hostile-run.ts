import { mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isAIMessage } from "@langchain/core/messages";
import { z } from "zod";
import { repairToolPairs } from "@millrace/engine/message-kinds";
import { toolRequested } from "../../../src/loop/after-reply.ts";
import { EndReason } from "../../../src/loop/state.ts";
import type { HookedCall } from "../../../src/tools/runtime/hooks.ts";
import { LoopLimits, type GraphState } from "../../../src/state.ts";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";
import type { Answer, HostileCase } from "./hostile-model.ts";
import { repeatedIds, strictProblems } from "./strict-provider.ts";

const secret = "a secret of the user";
const files = {
  "notes.txt": "a note",
  "in/a.txt": "first",
  "in/b.txt": "second",
  ".env": "KEY=1",
  ".git/config": "[core]",
};
const critical = [".env", ".git/config"] as const;
const { max_iterations: maxIterations } = LoopLimits.parse({});
/** Model calls that one turn can make at most: ten steps, planned twice and summed up, of all rounds in four pieces. */
const maxCalls = 16 * maxIterations * 4;

/** A folder beside the workspaces, with a file that must stay as it is and unread. */
export interface Outside {
  path: string;
  remove(): Promise<void>;
}

/** Makes the folder. */
export async function makeOutside(): Promise<Outside> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "millrace-outside-")));
  await writeFile(join(path, "secret.txt"), secret);
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** How a case went: everything that must not have happened, and how its loops ended. */
export interface HostileOutcome {
  problems: string[];
  ends: EndReason[];
  questions: number;
  effects: number;
}

/** Plays one case through the whole workflow, and once more with a model that means well. */
export async function playHostile(hostile: HostileCase, outside: Outside): Promise<HostileOutcome> {
  let isOver = false;
  const { moves, streamed } = hostile;
  const flow = await startWorkflow({
    files,
    stream: streamed,
    handler: ({ index }) => (isOver ? { text: "I am still here." } : (moves[index % moves.length] ?? {})),
  });
  const done: HookedCall[] = [];
  flow.services.hooks = [{ name: "witness", after: (call, { success }) => void (success && done.push(call)) }];
  try {
    await symlink(outside.path, join(flow.workspace, "link"));
    const { state, agreed, questions } = await play(flow, hostile);
    const problems = [
      ...endProblems(flow, state),
      ...yesProblems(state, done, agreed),
      ...(agreed.size === 0 ? await lossProblems(flow.workspace) : []),
      ...(await outsideProblems(flow, state, outside)),
    ];
    isOver = true;
    const after = await flow.send("Are you there?", { mode: "reply", chat_mode: "agent" });
    if (after.messages.at(-1)?.text !== "I am still here.") problems.push("the next message was not answered");
    problems.push(...flow.model.unexpected, ...flow.model.requests.flatMap(({ messages }) => strictProblems(messages)));
    problems.push(...flow.model.requests.flatMap(({ messages }) => repeatedIds(messages)));
    if ("polluted" in {}) problems.push("the prototype of all objects was changed");
    const ends = flow.events.flatMap((event) => (event.type === "agentic_loop.complete" ? [event.end_reason] : []));
    return {
      problems: [...new Set(problems)],
      ends: ends.map((end) => EndReason.parse(end)),
      questions,
      effects: done.length,
    };
  } catch (error) {
    const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { problems: [`the run failed: ${words.slice(0, 2000)}`], ends: [], questions: 0, effects: 0 };
  } finally {
    await flow.close();
  }
}

/** A person who is asked more often than this has gone. */
const maxQuestions = 3000;
const Question = z.looseObject({ kind: z.string(), tool_call_id: z.string().optional() });

async function play(
  flow: TestWorkflow,
  { request, context, answers }: HostileCase,
): Promise<{ state: GraphState; agreed: Set<string>; questions: number }> {
  const agreed = new Set<string>();
  let questions = 0;
  let state = await flow.send(request, context);
  for (let open = await flow.interrupts(); open.length > 0; open = await flow.interrupts()) {
    const given = open.map(({ id, value }): [string, unknown] => {
      const answer = answers[questions] ?? { kind: "reject" };
      questions += 1;
      const { kind, tool_call_id = "" } = Question.parse(value);
      const isAffirmative = answer.kind === "approve" || answer.kind === "edit";
      if (kind === "confirmation" && isAffirmative) agreed.add(tool_call_id);
      return [id, wireAnswer(answer)];
    });
    if (questions > maxQuestions) throw new Error(`more than ${maxQuestions} questions`);
    state = await flow.answer(Object.fromEntries(given));
  }
  return { state, agreed, questions };
}

function wireAnswer(answer: Answer): unknown {
  switch (answer.kind) {
    case "approve":
      return { type: "approve" };
    case "reject":
      return { type: "reject" };
    case "words":
      return { type: "answer", text: answer.text };
    case "edit":
      return { decisions: [{ type: "edit", args: answer.args }] };
    case "nonsense":
      return answer.value;
  }
}

/** The turn is over: with words, with a reason, within its limits, and nothing is held. */
function endProblems(flow: TestWorkflow, { messages }: GraphState): string[] {
  const problems: string[] = [];
  const last = messages.at(-1);
  if (last === undefined || !isAIMessage(last) || last.text.trim() === "") problems.push("no final message in words");
  if (repairToolPairs(messages) !== messages)
    problems.push("a call without its one result, or a result without its call");
  if (new Set(messages.map(({ id }) => id)).size !== messages.length) problems.push("two messages with one id");
  const starts = flow.events.filter(({ type }) => type === "agentic_loop.started").length;
  const ends = flow.events.flatMap((event) => (event.type === "agentic_loop.complete" ? [event] : []));
  if (starts !== ends.length) problems.push(`${starts} loops began and ${ends.length} ended`);
  // A tool that the user has chosen is asked for once more; a model that does not call it even then ends its loop with an error.
  const wasAsked = flow.events.some((event) => event.type === "forced_continuation" && event.kind === toolRequested);
  for (const { end_reason, iterations } of ends) {
    if (!EndReason.safeParse(end_reason).success)
      problems.push(`a loop ended for no known reason: ${String(end_reason)}`);
    if (end_reason === "error" && !wasAsked) {
      problems.push("a loop ended with an error, and the model could always be asked");
    }
    if (iterations > maxIterations) problems.push(`a loop of ${iterations} iterations`);
  }
  if (flow.model.requestCount > maxCalls) problems.push(`${flow.model.requestCount} model calls`);
  return problems;
}

/** Deletions, and changes of critical files, without an approval. */
function yesProblems({ messages }: GraphState, done: readonly HookedCall[], agreed: ReadonlySet<string>): string[] {
  return done.flatMap(({ call_id, tool }) => {
    const at = call_id.lastIndexOf("/");
    const asking = messages.find(({ id }) => id === call_id.slice(0, at));
    const call =
      asking !== undefined && isAIMessage(asking) ? asking.tool_calls?.[Number(call_id.slice(at + 1))] : undefined;
    if (call === undefined) return [`an effect of ${tool} that no message asks for`];
    // What else stands in the arguments means nothing to the tool.
    const changed = call.args[tool === "move_file" ? "source" : "path"];
    const isGrave =
      tool === "delete_file" ||
      (/^(?:update|move|rename)_file$/u.test(tool) && critical.some((path) => path === changed));
    return isGrave && !agreed.has(call.id ?? "") ? [`${tool} was carried out without an approval`] : [];
  });
}

/** Where nothing was approved: a file less, or another text in a critical file. */
async function lossProblems(workspace: string): Promise<string[]> {
  const problems: string[] = [];
  for (const path of critical) {
    const text = await readFile(join(workspace, path), "utf8").catch(() => "gone");
    if (text !== files[path]) problems.push(`${path} was changed without an approval`);
  }
  const entries = await readdir(workspace, { recursive: true, withFileTypes: true });
  const count = entries.filter((entry) => entry.isFile()).length;
  if (count < Object.keys(files).length) problems.push(`only ${count} files are left, without an approval`);
  return problems;
}

/** Anything read or changed beside the workspace. */
async function outsideProblems(flow: TestWorkflow, { messages }: GraphState, outside: Outside): Promise<string[]> {
  const problems: string[] = [];
  const names = await readdir(outside.path);
  if (names.join(",") !== "secret.txt") problems.push(`outside there is now ${names.join(", ")}`);
  const text = await readFile(join(outside.path, "secret.txt"), "utf8").catch(() => "gone");
  if (text !== secret) problems.push("the file outside was changed");
  if (messages.some((message) => message.text.includes(secret))) problems.push("the file outside was read");
  if ((await readdir(flow.workspace)).length === 0) problems.push("the workspace was emptied");
  return problems;
}
