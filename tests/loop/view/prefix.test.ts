import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Command, MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { createMemoryLedger } from "@millrace/engine/storage/memory";
import { createModelLoader } from "@millrace/models/load-model";
import { ModelRegistry } from "@millrace/models/registry/registry";
import { startModelServer, type ModelRequest, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { workflow } from "../../../src/graph/workflow.ts";
import { servicesKey, type RunServices } from "../../../src/loop/services.ts";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";
import { documentsOf, toolkitParts } from "../../support/toolkit-services.ts";

/**
 * `HISTORIES=10000 npx vitest run tests/loop/view/prefix.test.ts` is the long form. Most of what a turn costs over HTTP is not the
 * loop, so a tenth of them goes over HTTP, and all go through the workflow in this process.
 */
const turns = Number(process.env["HISTORIES"] ?? 20);
const turnsOverHttp = Math.max(12, Math.floor(turns / 10));
const seed = process.env["SEED"] === undefined ? {} : { seed: Number(process.env["SEED"]) };

let model: ModelServer;
let server: TestServer;
let workspace: string;
let services: RunServices;
let answer: (request: ModelRequest) => ModelStep;
beforeAll(async () => {
  model = await startModelServer({ handler: (request) => answer(request) });
  const config = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  const { openai } = config;
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), openai, model: "openai:scripted" });
  workspace = await realpath(await mkdtemp(join(tmpdir(), "millrace-prefix-")));
  services = {
    ledger: createMemoryLedger(),
    ...toolkitParts(workspace),
    workspace,
    locks: createLocks(),
    defaultModel: "openai:scripted",
    contextLimit: undefined,
    loadModel: createModelLoader(config, { models: new ModelRegistry(config) }),
    documents: documentsOf(workspace),
  };
});
afterAll(async () => {
  await server.remove();
  await model.close();
  await rm(workspace, { recursive: true, force: true });
});

const files = {
  ".autocoderrules/code.md": '---\nglobs: "**/*.ts"\n---\nUse two blanks.\n',
  "a.txt": "one\ntwo\nthree\n",
  "src/main.ts": "start();\nstart();\n",
  "notes.md": "# Notes\n",
};
const paths = fc.constantFrom("a.txt", "src/main.ts", "notes.md", "src", "missing.txt", "../outside.txt");
const words = fc.constantFrom("one", "start();", "Notes", "absent", "");

/** A call of the model: well made or not, allowed or not. */
const call = fc.oneof(
  fc.record({ name: fc.constantFrom("read_file", "list_files", "delete_file", "create_folder"), path: paths }),
  fc.record({ name: fc.constant("write_file"), path: paths, content: words }),
  fc
    .record({ path: paths, old_string: words, new_string: words })
    .map(({ path, ...edit }) => ({ name: "edit_file", path, edits: [edit] })),
  fc.record({ name: fc.constant("move_file"), source: paths, destination: paths }),
  fc.record({ name: fc.constant("search_content"), path: fc.constant("."), regex: words }),
  fc
    .constantFrom("pending", "in_progress", "completed")
    .map((status) => ({ name: "write_todos", todos: [{ content: "Change the start", status }] })),
  fc.constant({ name: "ask_followup_question", question: "Which one?" }),
  fc.constant({ name: "no_such_tool", path: "a.txt" }),
  fc.constant({ name: "read_file" }),
);

const step = fc.oneof(
  {
    weight: 48,
    arbitrary: fc.record({
      text: fc.constantFrom("", "I look."),
      calls: fc.array(call, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 8, arbitrary: fc.constant({ text: "", calls: [{ name: "read_file", path: "missing.txt" }] }) },
  { weight: 4, arbitrary: fc.constant({ text: "", calls: [] }) },
  { weight: 4, arbitrary: fc.constant("broken arguments" as const) },
  { weight: 1, arbitrary: fc.constant("unreachable" as const) },
  { weight: 4, arbitrary: fc.constant("cut" as const) },
);

/** One time in ten. */
const seldom = <Value>(some: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: some });

const turn = fc.record({
  request: fc.constantFrom(
    "Look after src/main.ts and a.txt",
    "Delete a.txt and move all files to new",
    "Summarise a.txt into notes.md",
    "先列个计划，再修改 src/main.ts",
    "Why are tests failing?",
  ),
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  answers: fc.array(fc.constantFrom("approve", "reject", "respond"), { minLength: 2, maxLength: 5 }),
  /** Rounds that the turn may have; few of them end it early. */
  rounds: fc.constantFrom(3, 5, 60),
  chosen: seldom(fc.constantFrom("read_file", "write_file")),
  policy: fc.constantFrom("auto", "auto", "auto", "guarded", "serial"),
  profile: fc.constantFrom("general", "general", "document", "agentic"),
  /** After how many requests the run is stopped, and taken up again. */
  stops: seldom(fc.nat(3)),
});
type Turn = typeof turn extends fc.Arbitrary<infer Value> ? Value : never;

/** The model of one turn: it answers by the steps, and says when it is asked for the one at which the run is stopped. */
function play({ steps, stops }: Turn, onStop: () => void): (request: ModelRequest) => ModelStep {
  let at = 0;
  let isStopped = false;
  return () => {
    if (at === stops && !isStopped) {
      isStopped = true;
      return { text: "never sent", hold: { after: 0, until: new Promise(() => onStop()) } };
    }
    const next = steps[at];
    at += 1;
    if (next === undefined) return { text: "That is all." };
    if (next === "unreachable") return { fault: { kind: "status", status: 429, retryAfter: "0" } };
    if (next === "cut") return { text: "It is cut", finishReason: "length" };
    if (next === "broken arguments") return { toolCalls: [{ name: "read_file", arguments: '{"path": "a.txt"' }] };
    const toolCalls = next.calls.map(({ name, ...args }) => ({ name, arguments: args }));
    return { text: next.text, toolCalls };
  };
}

/** What a walk of the graph begins with: a message, the answers by the ids of the questions, or nothing where it goes on. */
type Begin = { request: string } | { resume: Record<string, unknown> } | null;

/** Where a turn is taken. */
interface Session {
  /** Goes to the end, a question or the stop; gives the ids of the questions. */
  walk(begin: Begin, context: Record<string, unknown>): Promise<string[]>;
  /** Stops the walk that is under way. */
  stop(): Promise<void>;
}

const Thread = z.looseObject({
  interrupts: z.record(z.string(), z.array(z.looseObject({ id: z.string() }))).optional(),
});

function sessionOverHttp(thread: string): Session {
  const { runs, threads } = server.client;
  return {
    async walk(begin, context) {
      const payload =
        begin === null || "request" in begin
          ? { input: begin && { messages: [{ role: "user", content: begin.request }] } }
          : { command: begin };
      await runs.wait(thread, "agent", { ...payload, context, raiseError: false });
      const { interrupts = {} } = Thread.parse(await threads.get(thread));
      return Object.values(interrupts).flatMap((asked) => asked.map(({ id }) => id));
    },
    async stop() {
      const [run] = await runs.list(thread);
      await runs.cancel(thread, run?.run_id ?? "", true);
    },
  };
}

function sessionInProcess(): Session {
  const graph = workflow.compile({ checkpointer: new MemorySaver() });
  const id = crypto.randomUUID();
  const config = { configurable: { thread_id: id, run_id: id, [servicesKey]: services } };
  let stopped = new AbortController();
  return {
    async walk(begin, context) {
      stopped = new AbortController();
      const input = begin === null ? null : "request" in begin ? { messages: [begin.request] } : new Command(begin);
      // The graph's own schema checks what it is given.
      const options = { ...config, context: context as never, recursionLimit: 200, signal: stopped.signal };
      await graph.invoke(input as never, options).catch((error: unknown) => {
        if (!stopped.signal.aborted) throw error;
      });
      const { tasks } = await graph.getState(config);
      return tasks.flatMap(({ interrupts }) => interrupts.map((asked) => asked.id ?? ""));
    },
    stop: async () => stopped.abort(),
  };
}

/** One turn, answered until it asks no more, and taken up again after a stop. Gives what the model got. */
async function take(session: Session, given: Turn): Promise<ModelRequest[]> {
  const { answers, request, rounds, chosen, policy, profile } = given;
  let stop: Promise<void> | undefined;
  answer = play(given, () => {
    stop = session.stop();
  });
  const context = {
    limits: { max_iterations: rounds },
    tool_policy: policy,
    profile,
    clarify: false,
    ...(chosen !== null && { selected_tool: chosen }),
  };
  model.requests.length = 0;
  let begin: Begin = { request };
  for (let asked = 0; asked < 20;) {
    const questions = await session.walk(begin, context);
    if (stop !== undefined) {
      await stop;
      stop = undefined;
      begin = null;
      continue;
    }
    if (questions.length === 0) break;
    const word = answers[asked] ?? "reject";
    const decision = word === "respond" ? { type: "respond", message: "The first one" } : { type: word };
    begin = { resume: Object.fromEntries(questions.map((id) => [id, decision])) };
    asked += 1;
  }
  return [...model.requests];
}

const whole = ({ body, messages }: ModelRequest) => ({
  rest: JSON.stringify({ ...body, messages: undefined, tool_choice: undefined }),
  messages: messages.map((message) => JSON.stringify(message)),
});

/** Asks for the rest of a reply that was cut off: what follows the reply begins as the request before this one. */
const asksForRest = ({ messages }: ModelRequest): boolean =>
  String(messages.at(-1)?.content).startsWith("Your last reply was cut off");

type Whole = ReturnType<typeof whole>;

/** Takes the turn in a workspace as it was at first. For each request: what it has to begin with, and what it begins with. */
async function beginnings(
  given: Turn,
  folder: string,
  session: Session,
): Promise<{ expected: Whole[]; found: Whole[] }> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  const [expected, found]: [Whole[], Whole[]] = [[], []];
  let before: Whole | undefined;
  for (const request of await take(session, given)) {
    const next = whole(request);
    before ??= next;
    expected.push(before);
    found.push({ rest: next.rest, messages: next.messages.slice(0, before.messages.length) });
    if (!asksForRest(request)) before = next;
  }
  return { expected, found };
}

const timeLimit = Math.max(60_000, turns * 2000);

it(
  `within a turn each request begins byte for byte with the one before it: ${turnsOverHttp} random turns over HTTP`,
  async () => {
    await fc.assert(
      fc.asyncProperty(turn, async (given) => {
        const { thread_id } = await server.client.threads.create();
        const { expected, found } = await beginnings(given, server.config.workspace, sessionOverHttp(thread_id));
        expect(found).toEqual(expected);
        await server.client.threads.delete(thread_id);
      }),
      { numRuns: turnsOverHttp, ...seed },
    );
  },
  timeLimit,
);

it(
  `and ${turns} random turns of the workflow`,
  async () => {
    await fc.assert(
      fc.asyncProperty(turn, async (given) => {
        const { expected, found } = await beginnings(given, workspace, sessionInProcess());
        expect(found).toEqual(expected);
      }),
      { numRuns: turns, ...seed },
    );
  },
  timeLimit,
);
