import { deepEqual, equal, match, ok } from "node:assert/strict";
import { z } from "zod";
import { eventsOf } from "@millrace/testing/read-events";
import type { ServerProcess } from "../../../tests/support/processes/server-process.ts";
import type { Demo } from "../../../tests/e2e/demo/demo-session.ts";
import { note, say } from "../../../tests/e2e/demo/demo-view.ts";

const day = "2031-05-02";

const Item = z.looseObject({
  type: z.string(),
  content: z.string().default(""),
  name: z.string().default(""),
  status: z.string().default(""),
  message: z.string().default(""),
  question: z.string().default(""),
});
const Tasks = z.object({
  data: z.array(
    z.looseObject({ id: z.string(), title: z.string(), completed: z.boolean(), scheduled_dates: z.array(z.string()) }),
  ),
});
const Reply = z.strictObject({
  reply: z.string(),
  usage: z.looseObject({ total_tokens: z.number() }),
  model: z.string(),
  response_time_ms: z.number(),
});

/** What one message brought: the words, the cards that ended, and the question that waits. */
interface Said {
  thread: string;
  words: string;
  cards: string[];
  question: string;
}

/** Tasks are made, planned, finished and deleted by the two chat endpoints, and looked at by their own paths. */
const planner: Demo = {
  prepare: () => undefined,
  settings: { MILLRACE_CONFIRM_TASKS: "on" },
  async perform(server) {
    await createSeveral(server);
    await planAndFinish(server);
    await refuseBadDates(server);
    await deleteWithPermission(server);
    await survive(server);
  },
};

function send(server: ServerProcess, path: string, body?: object, method = "POST"): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(
    `${server.url}${path}`,
    body === undefined ? { method } : { method, headers, body: JSON.stringify(body) },
  );
}

async function tasksOf(server: ServerProcess, view: string): Promise<z.infer<typeof Tasks>["data"]> {
  return Tasks.parse(await (await send(server, `/api/views/${view}/tasks`, undefined, "GET")).json()).data;
}

/** Says something, and follows the answer to its end. */
async function chat(server: ServerProcess, text: string, thread?: string): Promise<Said> {
  const body = { messages: [{ role: "user", text }], ...(thread === undefined ? {} : { thread_id: thread }) };
  const response = await send(server, "/api/ai/chat/stream", body);
  equal(response.status, 200);
  const said: Said = { thread: response.headers.get("x-thread-id") ?? "", words: "", cards: [], question: "" };
  let last = "";
  for await (const { event = "message", data } of eventsOf(response)) {
    const item = Item.parse(data);
    last = event;
    if (event === "error") throw new Error(item.message);
    if (event === "message") said.words += item.content;
    if (event === "question") said.question = item.question;
    if (event !== "tool" || item.status === "running") continue;
    equal(item.status, "success", item.message);
    said.cards.push(item.message);
    note(`[${item.name}] ${item.message}`);
  }
  equal(last, "done", "the stream has to end with done");
  note(said.words.trim());
  return said;
}

async function createSeveral(server: ServerProcess): Promise<void> {
  const request = `create the task "Write the report" for ${day}, create the task "Call Ann" and create the task "Buy paper"`;
  say(1, "Several tasks in one request, each with a card", request);
  const { cards, words } = await chat(server, request);
  const titles = ["Write the report", "Call Ann", "Buy paper"];
  deepEqual(
    cards,
    titles.map((title) => `Task created: "${title}".`),
  );
  ok(words.trim() !== "", "a sentence has to come after the cards");
  deepEqual(
    (await tasksOf(server, `daily::${day}`)).map(({ title }) => title),
    ["Write the report"],
  );
  deepEqual(
    (await tasksOf(server, "staging")).map(({ title }) => title),
    ["Call Ann", "Buy paper"],
  );
}

async function planAndFinish(server: ServerProcess): Promise<void> {
  const plan = `schedule the task "Call Ann" for ${day}`;
  say(2, "A day for a task", plan);
  deepEqual((await chat(server, plan)).cards.at(-1), `Task "Call Ann" is scheduled for ${day}.`);
  const finish = 'mark the task "Buy paper" as done';
  say(3, "An answer in one piece", finish);
  const response = await send(server, "/api/ai/chat", { messages: [{ role: "user", text: finish }], max_tokens: 2000 });
  const { reply, usage, model, response_time_ms } = Reply.parse(await response.json());
  note(`${reply} (${model}, ${usage.total_tokens} tokens, ${response_time_ms} ms)`);
  deepEqual(
    (await tasksOf(server, "staging")).map(({ title, completed }) => [title, completed]),
    [["Buy paper", true]],
  );
}

async function refuseBadDates(server: ServerProcess): Promise<void> {
  const body = { title: "Never", scheduled_date: "2031-02-29" };
  say(4, "A date that does not exist", JSON.stringify(body));
  const response = await send(server, "/api/tasks", body);
  equal(response.status, 400);
  const text = await response.text();
  match(text, /date that exists/u);
  note(`refused with ${response.status}: a date that exists is expected`);
  ok(!(await tasksOf(server, "staging")).some(({ title }) => title === "Never"));
}

async function deleteWithPermission(server: ServerProcess): Promise<void> {
  const request = 'delete the task "Buy paper"';
  say(5, "A deletion, which waits for a yes", request);
  const { thread, question } = await chat(server, request);
  const [task] = await tasksOf(server, "staging");
  ok(
    task !== undefined && question.includes(task.id) && question.includes("Buy paper"),
    `no such question: ${question}`,
  );
  say(6, "The yes, in words", "yes");
  deepEqual((await chat(server, "yes", thread)).cards, ['Task deleted: "Buy paper".']);
  deepEqual(await tasksOf(server, "staging"), []);
}

async function survive(server: ServerProcess): Promise<void> {
  say(7, "kill -9, and the tasks are still there", `GET /api/views/daily::${day}/tasks`);
  await server.kill();
  await server.start();
  const tasks = await tasksOf(server, `daily::${day}`);
  equal(tasks.length, 2);
  for (const { title, completed } of tasks) note(`[${completed ? "x" : " "}] ${title}`);
}

/** What `npm run demo -- <name>` shows. */
export const demos = { planner };
