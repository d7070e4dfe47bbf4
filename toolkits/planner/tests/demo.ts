import { deepEqual, equal, match, ok } from "node:assert/strict";
import { z } from "zod";
import type { Language } from "@millrace/engine/language";
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
  async perform(server, _workspace, language) {
    await createSeveral(server, language);
    await planAndFinish(server, language);
    await refuseBadDates(server, language);
    await deleteWithPermission(server, language);
    await survive(server, language);
  },
};

/** What is said in either language, by the user and by the server. */
const texts = {
  en: {
    title: {
      several: "Several tasks in one request, each with a card",
      day: "A day for a task",
      whole: "An answer in one piece",
      date: "A date that does not exist",
      removal: "A deletion, which waits for an approval",
      yes: "The yes, in words",
      kill: "kill -9, and the tasks are still there",
    },
    titles: ["Write the report", "Call Ann", "Buy paper"],
    create: `create the task "Write the report" for ${day}, create the task "Call Ann" and create the task "Buy paper"`,
    created: (title: string) => `Task created: "${title}".`,
    plan: `schedule the task "Call Ann" for ${day}`,
    planned: `Task "Call Ann" is scheduled for ${day}.`,
    finish: 'mark the task "Buy paper" as done',
    answer: (reply: string, model: string, tokens: number, ms: number) =>
      `${reply} (model ${model}, ${tokens} tokens, ${ms} ms)`,
    never: "Never",
    refused: (status: number) => `Refused with ${status}: a date that exists is expected.`,
    remove: 'delete the task "Buy paper"',
    yes: "yes",
    removed: 'Task deleted: "Buy paper".',
  },
  zh: {
    title: {
      several: "一次请求创建多个任务，每个任务一张卡片",
      day: "为任务安排日期",
      whole: "一次性返回的回答",
      date: "不存在的日期",
      removal: "删除任务前等待确认",
      yes: "用文字确认",
      kill: "kill -9 之后，任务仍在",
    },
    titles: ["写报告", "给小安打电话", "买纸"],
    create: `创建任务“写报告”，日期 ${day}，创建任务“给小安打电话”，再创建任务“买纸”`,
    created: (title: string) => `任务「${title}」已创建。`,
    plan: `把任务“给小安打电话”安排到 ${day}`,
    planned: `任务「给小安打电话」已安排到 ${day}。`,
    finish: "把任务“买纸”标记为完成",
    answer: (reply: string, model: string, tokens: number, ms: number) =>
      `${reply}（模型 ${model}，${tokens} 个 token，${ms} 毫秒）`,
    never: "不存在的一天",
    refused: (status: number) => `已拒绝（${status}）：日期必须存在。`,
    remove: "删除任务“买纸”",
    yes: "确认",
    removed: "任务「买纸」已删除。",
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

async function createSeveral(server: ServerProcess, language: Language): Promise<void> {
  const { title, create, created, titles } = texts[language];
  say(1, title.several, create);
  const { cards, words } = await chat(server, create);
  deepEqual(cards, titles.map(created));
  ok(words.trim() !== "", "a sentence has to come after the cards");
  deepEqual(
    (await tasksOf(server, `daily::${day}`)).map((task) => task.title),
    titles.slice(0, 1),
  );
  deepEqual(
    (await tasksOf(server, "staging")).map((task) => task.title),
    titles.slice(1),
  );
}

async function planAndFinish(server: ServerProcess, language: Language): Promise<void> {
  const { title, plan, planned, finish, answer, titles } = texts[language];
  say(2, title.day, plan);
  deepEqual((await chat(server, plan)).cards.at(-1), planned);
  say(3, title.whole, finish);
  const response = await send(server, "/api/ai/chat", { messages: [{ role: "user", text: finish }], max_tokens: 2000 });
  const { reply, usage, model, response_time_ms } = Reply.parse(await response.json());
  note(answer(reply, model, usage.total_tokens, response_time_ms));
  deepEqual(
    (await tasksOf(server, "staging")).map((task) => [task.title, task.completed]),
    [[titles[2], true]],
  );
}

async function refuseBadDates(server: ServerProcess, language: Language): Promise<void> {
  const { title, refused, never } = texts[language];
  const body = { title: never, scheduled_date: "2031-02-29" };
  say(4, title.date, `POST /api/tasks ${JSON.stringify(body)}`);
  const response = await send(server, "/api/tasks", body);
  equal(response.status, 400);
  const text = await response.text();
  match(text, /date that exists/u);
  note(refused(response.status));
  ok(!(await tasksOf(server, "staging")).some((task) => task.title === never));
}

async function deleteWithPermission(server: ServerProcess, language: Language): Promise<void> {
  const { title, remove, yes, removed } = texts[language];
  say(5, title.removal, remove);
  const { thread, question } = await chat(server, remove);
  const [task] = await tasksOf(server, "staging");
  ok(task !== undefined && question.includes(task.title), `no such question: ${question}`);
  say(6, title.yes, yes);
  deepEqual((await chat(server, yes, thread)).cards, [removed]);
  deepEqual(await tasksOf(server, "staging"), []);
}

async function survive(server: ServerProcess, language: Language): Promise<void> {
  say(7, texts[language].title.kill, `GET /api/views/daily::${day}/tasks`);
  await server.kill();
  await server.start();
  const tasks = await tasksOf(server, `daily::${day}`);
  equal(tasks.length, 2);
  for (const task of tasks) note(`[${task.completed ? "x" : " "}] ${task.title}`);
}

/** What `npm run demo -- <name>` shows. */
export const demos = { planner };
