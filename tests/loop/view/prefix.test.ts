import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { startModelServer, type ModelRequest, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

/** `HISTORIES=10000 npx vitest run tests/loop/view/prefix.test.ts` is the long form. */
const turns = Number(process.env["HISTORIES"] ?? 12);
const seed = process.env["SEED"] === undefined ? {} : { seed: Number(process.env["SEED"]) };

let model: ModelServer;
let server: TestServer;
let answer: (request: ModelRequest) => ModelStep;
beforeAll(async () => {
  model = await startModelServer({ handler: (request) => answer(request) });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), openai, model: "openai:scripted" });
});
afterAll(async () => {
  await server.remove();
  await model.close();
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

const Thread = z.looseObject({
  interrupts: z.record(z.string(), z.array(z.looseObject({ id: z.string() }))).optional(),
});

/** The model of one turn: it answers by the steps, and says when it is asked for the one at which the run is stopped. */
function play({ steps, stops }: Turn, onStop: () => void): (request: ModelRequest) => ModelStep {
  let at = 0;
  let isStopped = false;
  return () => {
    if (at === stops && !isStopped) {
      isStopped = true;
      return { text: "never said", hold: { after: 0, until: new Promise(() => onStop()) } };
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

/** One turn over HTTP, answered until it asks no more, and taken up again after a stop. Gives what the model got. */
async function take(thread: string, given: Turn): Promise<ModelRequest[]> {
  const { answers, request, rounds, chosen, policy, profile } = given;
  const runs = server.client.runs;
  let stop: Promise<unknown> | undefined;
  answer = play(given, () => {
    stop = runs.list(thread).then(async ([run]) => await runs.cancel(thread, run?.run_id ?? "", true));
  });
  const context = {
    limits: { max_iterations: rounds },
    tool_policy: policy,
    profile,
    clarify: false,
    ...(chosen !== null && { selected_tool: chosen }),
  };
  let run: object | undefined = { input: { messages: [{ role: "user", content: request }] } };
  for (let asked = 0; run !== undefined && asked < 20;) {
    await runs.wait(thread, "agent", { ...run, context, raiseError: false });
    const { interrupts = {} } = Thread.parse(await server.client.threads.get(thread));
    run = undefined;
    if (stop !== undefined) {
      await stop;
      stop = undefined;
      run = { input: null };
      continue;
    }
    const questions = Object.values(interrupts).flat();
    if (questions.length > 0) {
      const word = answers[asked] ?? "reject";
      const said = word === "respond" ? { type: "respond", message: "The first one" } : { type: word };
      run = { command: { resume: Object.fromEntries(questions.map(({ id }) => [id, said])) } };
      asked += 1;
    }
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

it(
  `within a turn each request begins byte for byte with the one before it: ${turns} random turns`,
  async () => {
    await fc.assert(
      fc.asyncProperty(turn, async (given) => {
        for (const name of await readdir(server.config.workspace)) {
          await rm(join(server.config.workspace, name), { recursive: true });
        }
        for (const [path, text] of Object.entries(files)) {
          await mkdir(dirname(join(server.config.workspace, path)), { recursive: true });
          await writeFile(join(server.config.workspace, path), text);
        }
        const { thread_id } = await server.client.threads.create();
        model.requests.length = 0;
        const requests = await take(thread_id, given);
        let before: ReturnType<typeof whole> | undefined;
        for (const request of requests) {
          const next = whole(request);
          expect(next.rest).toBe(before?.rest ?? next.rest);
          expect(next.messages.slice(0, before?.messages.length)).toEqual(before?.messages ?? next.messages);
          if (!asksForRest(request)) before = next;
        }
        await server.client.threads.delete(thread_id);
      }),
      { numRuns: turns, ...seed },
    );
  },
  Math.max(60_000, turns * 2000),
);
