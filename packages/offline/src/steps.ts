import type { Language } from "@millrace/engine/language";
import { mainTool, type Action } from "./actions.ts";
import type { Exchange } from "./conversation.ts";
import { summarizeText } from "./summary.ts";

interface Call {
  name: string;
  args: Record<string, unknown>;
  /** Its failure does not end the action. */
  mayFail?: true;
}

/** The outcome of an action. */
export type Outcome =
  | { kind: "done"; text: string }
  | { kind: "failed"; exchange: Exchange | undefined }
  | { kind: "no_tool"; tool: string }
  | { kind: "too_long" | "no_task" };

/** The progress of an action. `step` counts its own calls from 0. */
export type Progress = { kind: "calls"; calls: (Call & { step: number })[] } | { kind: "ended"; outcome: Outcome };

/** What an action can read. */
export interface ActionContext {
  result(step: number): Exchange | undefined;
  isOffered(tool: string): boolean;
  language: Language;
  today: string;
}

/** An action as a generator: it yields calls, receives their results, and returns the outcome. */
type Work = Generator<Call[], Outcome, Exchange[]>;

/** The next calls of an action, or its outcome: replays its generator with the results so far. */
export function advance(action: Action, desk: ActionContext): Progress {
  const work = workOf(action, desk);
  let step = 0;
  let next = work.next();
  while (next.done !== true) {
    const calls = next.value.map((call) => ({ ...call, step: step++ }));
    const missing = calls.filter((call) => desk.result(call.step) === undefined);
    const impossible = missing.find(({ name }) => !desk.isOffered(name));
    if (impossible !== undefined) return { kind: "ended", outcome: { kind: "no_tool", tool: impossible.name } };
    if (missing.length > 0) return { kind: "calls", calls: missing };
    const results = calls.flatMap((call) => desk.result(call.step) ?? []);
    const failed = results.find(({ success }, index) => !success && calls[index]?.mayFail !== true);
    next = failed === undefined ? work.next(results) : work.return({ kind: "failed", exchange: failed });
  }
  return { kind: "ended", outcome: next.value };
}

function* workOf(action: Action, desk: ActionContext): Work {
  const tool = mainTool(action);
  switch (action.kind) {
    case "summarize":
      return yield* summarize(action, desk);
    case "complete_task":
      return yield* changeTask(tool, action.task, { completed: true }, desk);
    case "schedule_task":
      return yield* changeTask(tool, action.task, { scheduled_date: action.date }, desk);
    case "delete_task":
      return yield* changeTask(tool, action.task, {}, desk);
    case "write":
      return yield* replace(action.path, action.content);
    case "search": {
      const regex = action.query.replace(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`);
      return yield* single(tool, { path: action.path, regex });
    }
    default: {
      const { kind: _, ...args } = action;
      return yield* single(tool, args);
    }
  }
}

function* single(name: string, args: Record<string, unknown>): Work {
  const [exchange] = yield [{ name, args }];
  return { kind: "done", text: exchange?.text ?? "" };
}

/** Overwrites a file; reads an existing one first if necessary. */
function* replace(path: string, content: string): Work {
  const [written] = yield [{ name: "write_file", args: { path, content }, mayFail: true }];
  if (written?.success === true) return { kind: "done", text: written.text };
  if (!/was not read in this conversation/u.test(written?.text ?? "")) return { kind: "failed", exchange: written };
  yield [{ name: "read_file", args: { path } }];
  return yield* single("write_file", { path, content });
}

/** Reads the files in parallel, and returns a summary of each or writes it to a file. */
function* summarize({ paths, into }: Extract<Action, { kind: "summarize" }>, { language }: ActionContext): Work {
  const texts = yield paths.map((path) => ({ name: "read_file", args: { path } }));
  const summaries: string[] = [];
  for (const [index, { text }] of texts.entries()) {
    const isPart = /^\[[^\n]*(?:go on with offset|longer than shown)[^\n]*\]\n|\n\[… cut: [^\n]*\]$/u.test(text);
    if (isPart) return { kind: "too_long" };
    summaries.push(summarizeText(paths[index] ?? "", text === "(empty file)" ? "" : text, language));
  }
  const summary = summaries.join("\n\n");
  return into === undefined ? { kind: "done", text: summary } : yield* replace(into, `${summary}\n`);
}

const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/iu;

/** Changes a task. A title is looked up first: among undated tasks, then today's. */
function* changeTask(tool: string, task: string, change: Record<string, unknown>, { today }: ActionContext): Work {
  if (uuid.test(task)) return yield* single(tool, { task_id: task, ...change });
  for (const view_context of ["staging", `daily::${today}`]) {
    const [tasks] = yield [{ name: "read_tasks", args: { view_context } }];
    const lines = tasks?.text.split("\n") ?? [];
    const holds = (part: string): string | undefined => lines.find((line) => line.toLowerCase().includes(part));
    const title = task.toLowerCase();
    const id = uuid.exec(holds(`] ${title} (`) ?? holds(title) ?? "")?.[0];
    if (id !== undefined) return yield* single(tool, { task_id: id, ...change });
  }
  return { kind: "no_task" };
}
