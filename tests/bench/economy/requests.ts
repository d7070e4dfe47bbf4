import type { ScriptedToolCall } from "@millrace/testing/model-server";

/** One request of a person: the rounds of calls that a good model makes for it, and what it says at the end. */
export interface EverydayRequest {
  say: string;
  rounds: ScriptedToolCall[][];
  reply: string;
  /** The person's own words ask for a plan. */
  asksForPlan?: true;
  /** The person is asked before the work goes on, and agrees. */
  isConfirmed?: true;
}

/** Requests that follow each other in one conversation, in a workspace of this kind. */
export interface Conversation {
  kind: Kind;
  language: "en" | "zh";
  requests: EverydayRequest[];
}

export type Kind = "chat" | "code" | "files" | "documents" | "planner" | "circuits";

const call = (name: string, args: Record<string, unknown>): ScriptedToolCall => ({ name, arguments: args });
const read = (path: string): ScriptedToolCall => call("read_file", { path });
const write = (path: string, content: string): ScriptedToolCall => call("write_file", { path, content });
const list = (path = "."): ScriptedToolCall => call("list_files", { path });
const find = (query: string): ScriptedToolCall => call("search_content", { path: ".", regex: query });
const edit = (path: string, search: string, replace: string): ScriptedToolCall =>
  call("edit_file", { path, edits: [{ old_string: search, new_string: replace }] });
const task = (title: string, day?: string): ScriptedToolCall =>
  call("create_task", { title, ...(day !== undefined && { scheduled_date: day }) });

const ask = (say: string, rounds: ScriptedToolCall[][], reply: string): EverydayRequest => ({ say, rounds, reply });
const one = (kind: Kind, language: "en" | "zh") => (say: string, rounds: ScriptedToolCall[][], reply: string) => ({
  kind,
  language,
  requests: [ask(say, rounds, reply)],
});
const talk = (kind: Kind, language: "en" | "zh", ...requests: EverydayRequest[]): Conversation => ({
  kind,
  language,
  requests,
});

const chat = one("chat", "en");
const chatZh = one("chat", "zh");
const code = one("code", "en");
const codeZh = one("code", "zh");
const files = one("files", "en");
const filesZh = one("files", "zh");
const documents = one("documents", "en");
const documentsZh = one("documents", "zh");
const planner = one("planner", "en");
const plannerZh = one("planner", "zh");
const circuits = one("circuits", "en");
const circuitsZh = one("circuits", "zh");

/** Everyday requests in English and Chinese, with the least work that a good model does for each. */
export const conversations: readonly Conversation[] = [
  chat("Hello", [], "Hello! What can I do for you?"),
  chat("What is a mutex?", [], "A lock that one thread holds at a time."),
  chat("First I went home, then I slept.", [], "That sounds like a quiet evening."),
  chat("I like cats and my sister prefers dogs.", [], "Then a visit to either of you is never dull."),
  chat("What can you do for me?", [], "I can read and change files, keep tasks and answer questions."),
  chat(
    "I have been offered two jobs. One is close to home and pays a little less, the other means an hour on the train twice a day " +
      "but the team is great and I would learn a lot. My partner thinks I should take the first, my friends say the second. I am " +
      "thirty-two, we have no children yet, and I get bored easily. What would you do, and why?",
    [],
    "I would take the second, and agree on two days at home.",
  ),
  chat("Explain the difference between TCP and UDP, and give an example of each.", [], "TCP is ordered, UDP is not."),
  chat("Write me a four-line poem about autumn.", [], "Leaves fall, and nobody counts them."),
  talk("chat", "en", ask("Is 97 a prime number?", [], "Yes."), ask("Thanks!", [], "You are welcome.")),
  chatZh("你好", [], "你好！有什么可以帮你？"),
  chatZh("什么是互斥锁？", [], "一次只能由一个线程持有的锁。"),
  chatZh("我先去了超市，然后回家做饭。", [], "听起来是充实的一天。"),
  chatZh("帮我想三个咖啡馆的名字", [], "晨光、半日、角落。"),
  talk("chat", "zh", ask("九十七是质数吗？", [], "是的。"), ask("谢谢", [], "不客气。")),

  code(
    "Find where the config is loaded and change the default port to 9090.",
    [[find("loadConfig")], [read("src/config.ts")], [edit("src/config.ts", "port: 8080", "port: 9090")]],
    "The default port in src/config.ts is 9090 now.",
  ),
  {
    kind: "code",
    language: "en",
    requests: [
      {
        say: "Can you open the package.json and add lodash?",
        rounds: [
          [read("package.json")],
          [edit("package.json", '"zod": "4.0.0"', '"zod": "4.0.0",\n    "lodash": "4.17.21"')],
        ],
        reply: "lodash 4.17.21 is a dependency now.",
        isConfirmed: true,
      },
    ],
  },
  code(
    "Why do I get this?\nTypeError: Cannot read properties of undefined (reading 'port')\n    at start (src/server.ts:4:24)\n    at main (src/main.ts:3:1)",
    [[read("src/server.ts"), read("src/main.ts")]],
    "main.ts calls start() without a configuration.",
  ),
  code(
    "Rename the function greet to welcome everywhere.",
    [
      [find("greet")],
      [read("src/greet.ts"), read("src/main.ts")],
      [edit("src/greet.ts", "function greet(", "function welcome("), edit("src/main.ts", "greet }", "welcome }")],
    ],
    "greet is called welcome in both files.",
  ),
  code(
    "Add a unit test for src/greet.ts and tell me how to run it.",
    [[read("src/greet.ts"), list("src")], [write("src/greet.test.ts", 'import { greet } from "./greet.ts";\n')]],
    "The test is in src/greet.test.ts; run it with npx vitest.",
  ),
  code("What does src/server.ts do?", [[read("src/server.ts")]], "It starts an HTTP server on the configured port."),
  code(
    "Please look through the project and give me a short overview of its structure.",
    [[list(".")], [list("src"), read("package.json")]],
    "A small server: main.ts starts it, config.ts holds the settings.",
  ),
  code(
    "There is a typo in the greeting, it says Helo. Fix it.",
    [[find("Helo")], [read("src/greet.ts")], [edit("src/greet.ts", "Helo", "Hello")]],
    "The greeting says Hello now.",
  ),
  code(
    "Create a .gitignore with node_modules and dist, then add a README with the name of the project.",
    [[read("package.json")], [write(".gitignore", "node_modules\ndist\n"), write("README.md", "# mill\n")]],
    "Both files are there.",
  ),
  talk(
    "code",
    "en",
    ask("Which settings are there?", [[read("src/config.ts")]], "Host and port."),
    ask("Add a time-out of 30 seconds.", [[edit("src/config.ts", "port: 8080", "port: 8080, timeout: 30")]], "Added."),
    ask("thanks", [], "You are welcome."),
  ),
  {
    kind: "code",
    language: "en",
    requests: [
      {
        say: "Make a plan first, then split src/server.ts into a router and a listener.",
        rounds: [],
        reply: "This would be done in two steps.",
        asksForPlan: true,
      },
    ],
  },
  codeZh(
    "把默认端口改成 9090，然后告诉我改了哪里",
    [[find("8080")], [read("src/config.ts")], [edit("src/config.ts", "port: 8080", "port: 9090")]],
    "改了 src/config.ts 里的端口。",
  ),
  codeZh("src/greet.ts 是做什么的？", [[read("src/greet.ts")]], "它返回一句问候。"),
  codeZh(
    "给 greet 函数加上参数校验，名字为空时抛出错误",
    [
      [read("src/greet.ts")],
      [edit("src/greet.ts", "  return", '  if (name === "") throw new Error("name");\n  return')],
    ],
    "名字为空时会抛出错误。",
  ),
  codeZh("项目里有哪些依赖？", [[read("package.json")]], "只有 zod。"),

  files("What is in this folder?", [[list(".")]], "Three notes and a folder of drafts."),
  files("Read notes.md and tell me what it is about.", [[read("notes.md")]], "It is about the trip to Norway."),
  files(
    "Summarise notes.md into summary.md",
    [[read("notes.md")], [write("summary.md", "A trip to Norway in June.\n")]],
    "The summary is in summary.md.",
  ),
  files(
    "Read notes.md and shopping.txt and put everything I still have to do into todo.txt.",
    [[read("notes.md"), read("shopping.txt")], [write("todo.txt", "Book the ferry.\nBuy a tent.\n")]],
    "todo.txt holds two lines.",
  ),
  files(
    "Move all drafts into a folder named archive.",
    [
      [list("drafts")],
      [
        call("move_file", { source: "drafts/a.txt", destination: "archive/a.txt" }),
        call("move_file", { source: "drafts/b.txt", destination: "archive/b.txt" }),
      ],
    ],
    "Both drafts are in archive.",
  ),
  files("Which file mentions the ferry?", [[find("ferry")]], "notes.md."),
  files(
    "Rename shopping.txt to groceries.txt",
    [[call("move_file", { source: "shopping.txt", destination: "groceries.txt" })]],
    "It is groceries.txt now.",
  ),
  {
    kind: "files",
    language: "en",
    requests: [
      {
        say: "Delete drafts/a.txt",
        rounds: [[call("delete_file", { path: "drafts/a.txt" })]],
        reply: "drafts/a.txt is deleted.",
        isConfirmed: true,
      },
    ],
  },
  files(
    "Add milk and bread to shopping.txt",
    [[read("shopping.txt")], [edit("shopping.txt", "tent", "tent\nmilk\nbread")]],
    "Milk and bread are on the list.",
  ),
  files(
    "Compare drafts/a.txt with drafts/b.txt.",
    [[read("drafts/a.txt"), read("drafts/b.txt")]],
    "They differ in one word.",
  ),
  files(
    "Write the first 10 squares into squares.txt",
    [[write("squares.txt", "1 4 9 16 25 36 49 64 81 100\n")]],
    "Done.",
  ),
  talk(
    "files",
    "en",
    ask("Find the notes about Norway", [[find("Norway")]], "They are in notes.md."),
    ask("Read them to me, please", [[read("notes.md")]], "A trip to Norway in June."),
    ask("And what is missing in them?", [], "The way back."),
  ),
  filesZh("这个文件夹里有什么？", [[list(".")]], "三个文件和一个草稿文件夹。"),
  filesZh(
    "把 notes.md 总结到 summary.md",
    [[read("notes.md")], [write("summary.md", "六月去挪威旅行。\n")]],
    "总结已写入 summary.md。",
  ),
  filesZh("读取 notes.md，然后告诉我要点", [[read("notes.md")]], "六月去挪威旅行。"),
  filesZh(
    "把 shopping.txt 改名为 购物清单.txt",
    [[call("move_file", { source: "shopping.txt", destination: "购物清单.txt" })]],
    "已改名。",
  ),
  filesZh("哪个文件提到了渡轮 ferry？", [[find("ferry")]], "notes.md。"),

  documents("What does the letter say?", [[read("letter.md")]], "It invites to a meeting."),
  documents(
    "Make the letter friendlier and keep the date.",
    [[read("letter.md")], [edit("letter.md", "Dear Sir or Madam", "Dear friends")]],
    "The letter begins friendlier; the date is as it was.",
  ),
  documents(
    "Read minutes.txt and write a short e-mail about the decisions into mail.md.",
    [[read("minutes.txt")], [write("mail.md", "Dear all,\n\nwe decided to move in May.\n")]],
    "The e-mail is in mail.md.",
  ),
  documents(
    "Translate letter.md into German, as brief.md",
    [[read("letter.md")], [write("brief.md", "Sehr geehrte Damen und Herren\n")]],
    "The translation is in brief.md.",
  ),
  documents(
    "Which of my documents talk about the budget, and what do they say about it?",
    [[find("budget")], [read("minutes.txt")]],
    "Only the minutes: it stays as it is.",
  ),
  documentsZh("letter.md 里写了什么？", [[read("letter.md")]], "是一封会议邀请。"),
  documentsZh(
    "把会议记录整理成三条要点，存到 要点.md",
    [[read("minutes.txt")], [write("要点.md", "- 五月搬家\n- 预算不变\n- 下次会议周一\n")]],
    "要点已保存。",
  ),
  documentsZh(
    "润色一下 letter.md 的开头",
    [[read("letter.md")], [edit("letter.md", "Dear Sir or Madam", "Dear friends")]],
    "开头更亲切了。",
  ),

  planner("Add a task: call the dentist", [[task("Call the dentist")]], "It is on your list."),
  planner(
    "Remind me to pay the rent on 2026-12-01 and to water the plants on 2026-12-02",
    [[task("Pay the rent", "2026-12-01"), task("Water the plants", "2026-12-02")]],
    "Both tasks are planned.",
  ),
  planner("Which tasks do I have?", [[call("read_tasks", { view_context: "staging" })]], "None so far."),
  talk(
    "planner",
    "en",
    ask("Create a task to buy flowers for 2026-12-05.", [[task("Buy flowers", "2026-12-05")]], "Planned."),
    ask("What else is on my task list?", [[call("read_tasks", { view_context: "staging" })]], "Nothing else."),
  ),
  plannerZh("添加一个任务：给牙医打电话", [[task("给牙医打电话")]], "已添加。"),
  plannerZh("我有哪些任务？", [[call("read_tasks", { view_context: "staging" })]], "目前没有任务。"),

  circuits(
    "Simulate amp.cir and show me the gain",
    [[call("run_simulation", { circuit: "amp.cir" })]],
    "0.5 at the output.",
  ),
  circuits(
    "Double R1 in amp.cir and simulate it again.",
    [
      [read("amp.cir")],
      [call("patch_file", { path: "amp.cir", changes: [{ find: "R1 in out 1k", replace: "R1 in out 2k" }] })],
      [call("run_simulation", { circuit: "amp.cir" })],
    ],
    "The output falls to a third.",
  ),
  circuits("What does amp.cir do?", [[read("amp.cir")]], "It divides the voltage by two."),
  circuitsZh("仿真 amp.cir 并告诉我增益", [[call("run_simulation", { circuit: "amp.cir" })]], "增益为 0.5。"),
  circuitsZh(
    "amp.cir 的截止频率是多少？",
    [[call("run_simulation", { circuit: "amp.cir" })]],
    "没有电容，因此没有截止频率。",
  ),
];

/** The files that a conversation of a kind begins with. */
export const workspaces: Readonly<Record<Kind, Record<string, string>>> = {
  chat: {},
  planner: {},
  code: {
    "package.json": '{\n  "name": "mill",\n  "dependencies": {\n    "zod": "4.0.0"\n  }\n}\n',
    "src/config.ts": 'export function loadConfig() {\n  return { host: "localhost", port: 8080 };\n}\n',
    "src/server.ts":
      'import { createServer } from "node:http";\n\nexport function start(config: { port: number }) {\n  createServer().listen(config.port);\n}\n',
    "src/main.ts":
      'import { start } from "./server.ts";\nimport { greet } from "./greet.ts";\nstart();\ngreet("mill");\n',
    "src/greet.ts": "export function greet(name: string) {\n  return `Helo ${name}`;\n}\n",
  },
  files: {
    "notes.md": "# Norway\n\nA trip to Norway in June.\nThe ferry is not booked yet.\n",
    "shopping.txt": "rope\ntent\n",
    "ideas.txt": "A map of all huts.\n",
    "drafts/a.txt": "The first draft.\n",
    "drafts/b.txt": "The second draft.\n",
  },
  documents: {
    "letter.md": "1 May\n\nDear Sir or Madam\n\nWe invite you to our meeting.\n",
    "minutes.txt": "We move in May.\nThe budget stays as it is.\nNext meeting on Monday.\n",
  },
  circuits: {
    "amp.cir": "* divider\nV1 in 0 DC 1 AC 1\nR1 in out 1k\nR2 out 0 1k\n.ac dec 5 1 1k\n.end\n",
  },
};
