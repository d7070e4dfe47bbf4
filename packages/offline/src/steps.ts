import { mainTool, type Action } from "./actions.ts";
import type { Exchange } from "./conversation.ts";
import { summarizeText } from "./summary.ts";
import type { Language } from "@millrace/engine/language";

/** A call that an action needs next. `step` counts the action's own calls from 0. */
export interface NeededCall {
  step: number;
  name: string;
  args: Record<string, unknown>;
}

/** How an action ended. */
export interface Outcome {
  action: Action;
  kind: "done" | "failed" | "no_tool" | "incomplete";
  /** The tool that is missing, for `no_tool`. */
  tool?: string;
  /** The result that says how it went. */
  exchange?: Exchange;
  /** Texts read on the way, in order. */
  texts: string[];
  /** Whether something that existed was changed, where making something new was the first idea. */
  wasThere?: boolean;
}

/** Where an action stands. */
export type Progress = { kind: "calls"; calls: NeededCall[] } | { kind: "ended"; outcome: Outcome };

/** What a step may look at. */
export interface Desk {
  result(step: number): Exchange | undefined;
  /** The parameters of a tool, `undefined` when it is not offered. */
  parameters(tool: string): string[] | undefined;
  language: Language;
  today: string;
}

/** Reading one file takes at most this many calls. */
const maxParts = 6;
/** Steps of the files of one action begin at multiples of this, so that they never meet. */
const stride = 10;

/** The next calls of an action, or how it ended; decided by the results so far alone. */
export function advance(action: Action, desk: Desk): Progress {
  const ask: Ask = { action, desk, step: 0, texts: [] };
  switch (action.kind) {
    case "create":
      return createOrUpdate(ask, action, action.overwrite);
    case "update":
      return update(ask, action);
    case "append":
      return append(action, desk);
    case "derive":
      return derive(action, desk);
    case "summarize":
      return readAll(action, action.paths, desk, (texts) => ended({ action, kind: "done", texts }));
    case "change_task":
    case "schedule_task":
    case "delete_task":
      return changeTask(action, desk);
    case "rename":
      if (desk.parameters("rename_file") === undefined && desk.parameters("move_file") !== undefined) {
        const folder = action.path.includes("/") ? action.path.slice(0, action.path.lastIndexOf("/") + 1) : "";
        return single(ask, "move_file", { source: action.path, destination: folder + action.name });
      }
      return single(ask, "rename_file", argumentsOf(action, desk));
    default:
      return single(ask, mainTool(action), argumentsOf(action, desk));
  }
}

/** A step of an action: where its call stands, and what was read before it. */
interface Ask {
  action: Action;
  desk: Desk;
  step: number;
  texts: string[];
}

/** What is to stand in a file. */
interface Content {
  path: string;
  content: string;
}

function ended(outcome: Outcome): Progress {
  return { kind: "ended", outcome };
}

/** One call, and the action ends as it does. */
function single({ action, desk, step, texts }: Ask, name: string, args: Record<string, unknown>): Progress {
  const exchange = desk.result(step);
  if (exchange !== undefined) return ended({ action, kind: exchange.success ? "done" : "failed", exchange, texts });
  if (desk.parameters(name) === undefined) return ended({ action, kind: "no_tool", tool: name, texts });
  return { kind: "calls", calls: [{ step, name, args }] };
}

/** Makes a file; where it exists and may be replaced, updates it. */
function createOrUpdate(ask: Ask, { path, content }: Content, mayReplace: boolean): Progress {
  if (ask.desk.parameters("create_file") === undefined) return writeOver(ask, { path, content }, mayReplace);
  const made = ask.desk.result(ask.step);
  const exists = made !== undefined && !made.success && !made.isDenied && /exist|conflict|已存在/iu.test(made.text);
  if (!exists || !mayReplace || ask.desk.parameters("update_file") === undefined) {
    return single(ask, "create_file", { path, content });
  }
  return markExisting(single({ ...ask, step: ask.step + 1 }, "update_file", { path, content }));
}

/** Writes a whole file; where one is there that was not read, and may be replaced, reads it first. */
function writeOver(ask: Ask, { path, content }: Content, mayReplace: boolean): Progress {
  const first = single(ask, "write_file", { path, content });
  const isUnread =
    first.kind === "ended" && /was not read in this conversation/u.test(first.outcome.exchange?.text ?? "");
  if (!isUnread || !mayReplace) return first;
  const read = single({ ...ask, step: ask.step + 1 }, "read_file", { path });
  if (read.kind === "calls" || read.outcome.kind !== "done") return read;
  return markExisting(single({ ...ask, step: ask.step + 2 }, "write_file", { path, content }));
}

function markExisting(progress: Progress): Progress {
  return progress.kind === "calls" ? progress : ended({ ...progress.outcome, wasThere: true });
}

/** Replaces a file's content; where it is missing, makes it. */
function update(ask: Ask, { path, content }: Content): Progress {
  if (ask.desk.parameters("update_file") === undefined) return markExisting(writeOver(ask, { path, content }, true));
  const changed = ask.desk.result(ask.step);
  const isThere = changed === undefined || changed.success || !isMissing(changed);
  if (isThere || ask.desk.parameters("create_file") === undefined) {
    return markExisting(single(ask, "update_file", { path, content }));
  }
  return single({ ...ask, step: ask.step + 1 }, "create_file", { path, content });
}

function isMissing(exchange: Exchange): boolean {
  return !exchange.isDenied && /not[_ ]found|no such|does not exist|missing|不存在|找不到/iu.test(exchange.text);
}

function append(action: Extract<Action, { kind: "append" }>, desk: Desk): Progress {
  const first = desk.result(0);
  const after = stride * maxParts;
  if (first !== undefined && !first.success && isMissing(first)) {
    const content = `${action.content}\n`;
    return single({ action, desk, step: after, texts: [] }, "create_file", { path: action.path, content });
  }
  return readAll(action, [action.path], desk, (texts) => {
    const text = texts[0] ?? "";
    const joint = text === "" || text.endsWith("\n") ? "" : "\n";
    const content = `${text}${joint}${action.content}\n`;
    return update({ action, desk, step: after, texts }, { path: action.path, content });
  });
}

function derive(action: Extract<Action, { kind: "derive" }>, desk: Desk): Progress {
  return readAll(action, action.sources, desk, (texts) => {
    const content =
      action.how === "copy"
        ? texts.join("\n")
        : action.sources.map((source, index) => summarizeText(source, texts[index] ?? "", desk.language)).join("\n\n") +
          "\n";
    const mayReplace = action.how === "summary";
    return createOrUpdate({ action, desk, step: stride * maxParts, texts }, { path: action.path, content }, mayReplace);
  });
}

/** What stands above the text of a part, of a document, or of a file in another encoding. */
const partHeader =
  /^\[[^\n]*?: (?:lines \d+-\d+ of |the text of an? |in (?:UTF-16|GB 18030|Windows-1252);)[^\n]*?\]\n/u;

/** Reads files whole, part by part where the tool gives parts, all at once where there are several. */
function readAll(action: Action, paths: string[], desk: Desk, then: (texts: string[]) => Progress): Progress {
  const texts: string[] = [];
  const calls: NeededCall[] = [];
  for (const [index, path] of paths.entries()) {
    let text = "";
    let startLine = 1;
    for (let part = 0; ; part += 1) {
      const step = index * stride + part;
      const args = startLine === 1 ? { path } : { path, offset: startLine };
      const progress = single({ action, desk, step, texts }, "read_file", args);
      if (progress.kind === "calls") {
        calls.push(...progress.calls);
        break;
      }
      const { exchange } = progress.outcome;
      if (progress.outcome.kind !== "done" || exchange === undefined) return progress;
      const header = partHeader.exec(exchange.text)?.[0] ?? "";
      text += header === "" && exchange.text === "(empty file)" ? "" : exchange.text.slice(header.length);
      const next = /go on with offset (\d+)/u.exec(header)?.[1];
      const isCut = /longer than shown/u.test(header) || /\n\[… cut: [^\n]*\]$/u.test(exchange.text);
      if (isCut || (next !== undefined && part + 1 >= maxParts)) {
        return ended({ action, kind: "incomplete", exchange, texts: [...texts, text] });
      }
      if (next === undefined) {
        texts.push(text);
        break;
      }
      startLine = Number(next);
    }
  }
  return calls.length > 0 ? { kind: "calls", calls } : then(texts);
}

type TaskChange = Extract<Action, { kind: "change_task" | "schedule_task" | "delete_task" }>;

const uuid = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/iu;

/** Changes a task. One that is named by its title is looked up first: without a date, then today's. */
function changeTask(action: TaskChange, desk: Desk): Progress {
  const last: Ask = { action, desk, step: 2, texts: [] };
  if (uuid.test(action.task)) return single(last, mainTool(action), taskArguments(action, action.task));
  const texts: string[] = [];
  for (const [step, view] of ["staging", `daily::${desk.today}`].entries()) {
    const progress = single({ action, desk, step, texts }, "read_tasks", { view_context: view });
    const exchange = progress.kind === "ended" ? progress.outcome.exchange : undefined;
    if (exchange === undefined || !exchange.success) return progress;
    const id = findTask(exchange.text, action.task);
    if (id !== undefined) return single(last, mainTool(action), taskArguments(action, id));
    texts.push(exchange.text);
  }
  return ended({ action, kind: "failed", texts });
}

/** The id in the line of a task list that has this title. */
function findTask(list: string, title: string): string | undefined {
  const lines = list.split("\n").filter((line) => line.toLowerCase().includes(title.toLowerCase()));
  const best = lines.find((line) => line.includes(`] ${title} (`)) ?? lines[0];
  return best === undefined ? undefined : (uuid.exec(best)?.[0] ?? /\bid[:= ]+([\w-]+)/u.exec(best)?.[1]);
}

function taskArguments(action: TaskChange, id: string): Record<string, unknown> {
  if (action.kind === "delete_task") return { task_id: id };
  if (action.kind === "schedule_task") return { task_id: id, scheduled_date: action.date };
  return {
    task_id: id,
    ...(action.title === undefined ? {} : { title: action.title }),
    ...(action.completed === undefined ? {} : { completed: action.completed }),
  };
}

type SingleAction = Exclude<Action, TaskChange | { kind: "create" | "update" | "append" | "derive" | "summarize" }>;

function argumentsOf(action: SingleAction, desk: Desk): Record<string, unknown> {
  switch (action.kind) {
    case "list":
      return action.path === "." ? {} : { path: action.path };
    case "read":
      return {
        path: action.path,
        ...(action.start === undefined ? {} : { offset: action.start }),
        ...(action.end === undefined ? {} : { limit: action.end - (action.start ?? 1) + 1 }),
      };
    case "search_names":
      return { query: action.query };
    case "search_content":
      return { path: action.path, regex: action.query.replace(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`) };
    case "move":
      return { source: action.source, destination: action.destination };
    case "rename":
      return { path: action.path, new_name: action.name };
    case "delete":
    case "create_folder":
      return { path: action.path };
    case "create_task":
      return {
        title: action.title,
        ...(action.area === undefined ? {} : { area_id: action.area }),
        ...(action.date === undefined ? {} : { scheduled_date: action.date }),
      };
    case "read_tasks":
      return { view_context: action.view };
    case "simulate":
      return simulationArguments(action.path, action.analysis, desk.parameters("run_simulation") ?? []);
  }
}

/** The simulation tool's parameters are known only from its schema: the file and the analysis go where they fit. */
function simulationArguments(
  path: string,
  analysis: string | undefined,
  parameters: string[],
): Record<string, unknown> {
  const file = parameters.find((name) => /path|file|circuit|netlist/iu.test(name)) ?? "path";
  const kind = parameters.find((name) => /analysis|type|mode/iu.test(name));
  return { [file]: path, ...(kind === undefined || analysis === undefined ? {} : { [kind]: analysis }) };
}
