import { call, oneByOne, type RecordedCall, type RecordedRound, type Recording } from "./recording.ts";

const many = <Item>(length: number, make: (at: number) => Item): Item[] => Array.from({ length }, (_, at) => make(at));
const read = (path: string, content: string) => call("read_file", { path }, content);
const edit = (path: string, old_string: string, new_string: string) =>
  call("edit_file", { path, old_string, new_string }, `Edited ${path}: 1 line.`);
const write = (path: string, content: string) => call("update_file", { path, content }, `Updated ${path}.`);
const move = (source: string, destination: string) => call("move_file", { source, destination }, "Moved.");
const list = (result: string) => call("list_files", {}, result);
const run = (command: string, result: string, failed?: "execution_failed") =>
  call("run_command", { command }, result, failed === undefined ? {} : { failed });
const failing = (result: string) => run("npm test", result, "execution_failed");
const job = (result: string) => call("job_status", { job: 7 }, result);
const search = (query: string, result: string) => call("web_search", { query }, result);
const none = "No matches.";
const words = [
  "lorem",
  "ipsum",
  "dolor",
  "amet",
  "elit",
  "tempor",
  "magna",
  "aliqua",
  "minim",
  "nostrud",
  "laboris",
  "nisi",
];

function simulated(values: number[]): RecordedCall[] {
  return values.map((gain_db, at) =>
    call("run_simulation", { width: at }, `run ${at}`, { metrics: { gain_db, power_mw: 3 } }),
  );
}

const together = (calls: RecordedCall[], size: number, text = ""): RecordedRound[] =>
  many(Math.ceil(calls.length / size), (at) => ({ text, calls: calls.slice(at * size, (at + 1) * size) }));

/** Honest work that looks like a loop: nothing of it may be blocked or ended. */
export const honest: Recording[] = [
  {
    name: "three wrong names before the right one, twice",
    request: "What is in a.txt and b.txt?",
    opening: oneByOne(
      ["a.txt", "b.txt"].flatMap((path) => [
        ...["cat", "open_file", "show"].map((tool) =>
          call(tool, { path }, `No ${tool}.`, { failed: "tool_not_found" }),
        ),
        read(path, `content of ${path}`),
      ]),
    ),
  },
  {
    name: "thirty files of one content, read at once and changed at once",
    request: "Set the limit to 10 everywhere.",
    opening: [
      ...together(
        many(30, (at) => read(`src/part-${at}.ts`, "const limit = 5;")),
        30,
      ),
      ...together(
        many(30, (at) => edit(`src/part-${at}.ts`, "limit = 5", "limit = 10")),
        30,
      ),
    ],
  },
  {
    name: "polling a job whose state moves",
    request: "Wait for job 7.",
    opening: oneByOne("queued,queued,starting,10%,20%,20%,45%,45%,45%,80%,done".split(",").map(job)),
  },
  {
    name: "polling an unchanged job within the bound",
    request: "Wait for job 7.",
    opening: oneByOne([...many(18, () => job("running")), job("done")]),
  },
  {
    name: "polling with pauses",
    request: "Wait for job 7.",
    opening: oneByOne(many(12, () => [job("running"), call("sleep", { seconds: 10 }, "Waited 10 seconds.")]).flat()),
  },
  {
    name: "polling two jobs in turn",
    request: "Wait for both.",
    opening: oneByOne(many(14, (at) => call("job_status", { job: at % 2 }, "running"))),
  },
  {
    name: "paging by offset",
    request: "List all rows.",
    opening: oneByOne(
      many(20, (at) => call("list_rows", { offset: at * 50, limit: 50 }, `rows ${at * 50} to ${at * 50 + 49}`)),
    ),
  },
  {
    name: "paging by page number with some empty pages",
    request: "List all rows.",
    opening: oneByOne(many(15, (page) => call("list_rows", { page }, page % 4 === 3 ? "[]" : `page ${page} of rows`))),
  },
  {
    name: "reading a long file by line ranges",
    request: "Read big.log.",
    opening: oneByOne(
      many(20, (at) =>
        call(
          "read_file",
          { path: "big.log", start_line: at * 100 + 1, end_line: at * 100 + 100 },
          `[lines ${at * 100 + 1}-${at * 100 + 100}]`,
        ),
      ),
      "Let me read the next part.",
    ),
  },
  {
    name: "batches that all report the same",
    request: "Process all.",
    opening: oneByOne(many(20, (at) => call("process_batch", { offset: at * 100 }, "100 rows processed"))),
  },
  {
    name: "the same edit in many files",
    request: "Rename foo to bar everywhere.",
    opening: together(
      many(25, (at) => edit(`src/file${at}.ts`, "foo", "bar")),
      5,
    ),
  },
  {
    name: "many files moved with the same result",
    request: "Move all drafts.",
    opening: oneByOne(
      many(20, (at) => move(`d${at}.md`, `old/d${at}.md`)),
      "Now the next file.",
    ),
  },
  {
    name: "many tasks created",
    request: "Plan the week.",
    opening: oneByOne(many(14, (at) => call("create_task", { title: `Step ${at}` }, "Created the task."))),
  },
  {
    name: "tests again after each fix, each failing in the same way",
    request: "Make the tests pass.",
    opening: oneByOne([
      ...many(8, (at) => [edit("sum.ts", `try ${at}`, `try ${at + 1}`), failing("1 of 3 failed: adds")]).flat(),
      run("npm test", "3 passed"),
    ]),
  },
  {
    name: "build and test after each fix",
    request: "Make the tests pass.",
    opening: oneByOne(
      many(6, (at) => [
        edit("sum.ts", `try ${at}`, `try ${at + 1}`),
        run("npm run build", "ok"),
        failing("1 of 3 failed: adds"),
      ]).flat(),
    ),
  },
  {
    name: "a failed edit, read, and made right",
    request: "Fix it.",
    opening: oneByOne([
      call("edit_file", { path: "a.ts", old_string: "x", new_string: "y" }, "not found", {
        failed: "invalid_parameter",
      }),
      read("a.ts", "X = 1"),
      call("edit_file", { path: "a.ts", old_string: "x", new_string: "y" }, "not found", {
        failed: "invalid_parameter",
      }),
      edit("a.ts", "X", "y"),
      read("a.ts", "y = 1"),
    ]),
  },
  {
    name: "a move that needs its folder first",
    request: "Move a.txt to old.",
    opening: oneByOne([
      call("move_file", { source: "a.txt", destination: "old/2/a.txt" }, "no folder old/2", { failed: "not_found" }),
      call("create_folder", { path: "old" }, "Created old."),
      call("move_file", { source: "a.txt", destination: "old/2/a.txt" }, "no folder old/2", { failed: "not_found" }),
      call("create_folder", { path: "old/2" }, "Created old/2."),
      move("a.txt", "old/2/a.txt"),
    ]),
  },
  {
    name: "the same file read again after each change",
    request: "Improve the text.",
    opening: oneByOne(many(8, (at) => [read("t.md", `version ${at}`), write("t.md", `version ${at + 1}`)]).flat()),
  },
  {
    name: "the folder listed again after each move",
    request: "Sort the files.",
    opening: oneByOne(many(8, (at) => [list(`${8 - at} files`), move(`f${at}`, `done/f${at}`)]).flat()),
  },
  {
    name: "a file read again after changes that leave it as it is",
    request: "Write the parts.",
    opening: oneByOne(many(8, (at) => [read("plan.md", "the plan"), write(`part${at}.md`, `part ${at}`)]).flat()),
  },
  {
    name: "the same words before every file",
    request: "Check all files.",
    opening: oneByOne(
      many(20, (at) => read(`f${at}.txt`, `content ${at}`)),
      "Let me check the next file.",
    ),
  },
  {
    name: "the same words before every file (zh)",
    request: "检查所有文件",
    opening: oneByOne(
      many(20, (at) => read(`f${at}.txt`, `content ${at}`)),
      "我将继续检查剩余的文件，让我逐一检查每个文件的内容。",
    ),
  },
  {
    name: "forced replies that go on with the work",
    request: "Check all folders.",
    opening: many(5, (at) => ({
      text: "I will go on with the next folder.",
      forced: true,
      calls: [call("list_files", { path: `d${at}` }, `files of ${at}`)],
    })),
  },
  {
    name: "identical empty files",
    request: "Are these files empty?",
    opening: oneByOne(
      many(20, (at) => read(`part-${"abcdefghijklmnopqrst".charAt(at)}.txt`, "(empty file)")),
    ).toSpliced(0, 0, { calls: [list(many(20, (at) => `part-${"abcdefghijklmnopqrst".charAt(at)}.txt`).join("\n"))] }),
  },
  {
    name: "words of the request that do not occur",
    request: `Which of these occur: ${words.join(", ")}?`,
    opening: oneByOne(words.map((regex) => call("search_content", { path: ".", regex }, none))),
  },
  {
    name: "names of an earlier result that are not found",
    request: "Are the names of names.txt used?",
    opening: oneByOne([read("names.txt", words.join("\n")), ...words.map((query) => search(query, none))]),
  },
  {
    name: "a search that becomes wider",
    request: "Find the report.",
    opening: oneByOne([
      search("annual report 2023 pdf", none),
      search("annual report 2023", none),
      search("annual report", none),
      search("report", "annual-2023.docx"),
    ]),
  },
  {
    name: "a simulation that gets better slowly",
    request: "Raise the gain.",
    opening: oneByOne(simulated(many(30, (at) => 18 + at * 0.1))),
  },
  {
    name: "a simulation that stands still for a while and then moves on",
    request: "Raise the gain.",
    opening: oneByOne(simulated([18, 18, 18, 18, 18, 18, 18, 19, 19, 19, 19, 19, 20])),
  },
  {
    name: "a trade: one metric better, one worse",
    request: "Find a balance.",
    opening: oneByOne(
      many(14, (at) =>
        call("run_simulation", { at }, `run ${at}`, { metrics: { gain_db: 18 - at, power_mw: 30 - at } }),
      ),
    ),
  },
  {
    name: "a switch tried in both positions on one case after the other",
    request: "Compare with and without cache.",
    opening: oneByOne(
      many(6, (at) => [
        write("config", "cache=on"),
        run(`case ${at}`, `${at}1 ms on`),
        write("config", "cache=off"),
        run(`case ${at} again`, `took ${at}9 of them`),
      ]).flat(),
    ),
  },
  {
    name: "a change taken back once",
    request: "Try it.",
    opening: oneByOne([
      write("a", "one"),
      failing("worse"),
      write("a", "zero"),
      run("npm test", "passed"),
      write("a", "one"),
      run("npm test --all", "passed all"),
      write("a", "zero"),
    ]),
  },
  {
    name: "two files compared twice",
    request: "Compare a and b.",
    opening: oneByOne([read("a", "A"), read("b", "B"), read("a", "A"), read("b", "B"), write("c", "differences")]),
  },
  {
    name: "a file looked at three times",
    request: "Explain a.",
    opening: oneByOne([read("a", "A"), read("b", "B"), read("a", "A"), read("c", "C"), read("a", "A")]),
  },
  {
    name: "calls beyond the number of one reply, asked for again",
    request: "Read all.",
    opening: together(
      many(20, (at) => read(`f${at}`, `content ${at}`)),
      5,
    ),
  },
  {
    name: "several deletions that the user refuses",
    request: "Tidy up.",
    opening: oneByOne(
      many(6, (at) => call("delete_file", { path: `f${at}` }, "The user refused this call.", { failed: "denied" })),
    ),
  },
  {
    name: "tests named by their path, again after each fix elsewhere",
    request: "Make the tests pass.",
    opening: oneByOne(
      many(7, (at) => [
        edit("src/sum.ts", `try ${at}`, `try ${at + 1}`),
        call("run_command", { path: "tests/sum.test.ts" }, "1 failed", { failed: "execution_failed" }),
      ]).flat(),
    ),
  },
  {
    name: "two commands in turn whose answers move on",
    request: "Watch the roll-out.",
    opening: oneByOne(many(8, (at) => [run("get pods", `${at} of 8 ready`), run("get events", `event ${at}`)]).flat()),
  },
  {
    name: "metrics that are only watched",
    request: "Watch the load.",
    opening: oneByOne(
      many(14, (at) => call("job_status", { job: 7 }, `running, load ${at % 3}`, { metrics: { load: at % 3 } })),
    ),
  },
  {
    name: "a server restarted after each edit",
    request: "Fix the page.",
    opening: oneByOne(
      many(6, (at) => [
        edit("page.ts", `try ${at}`, `try ${at + 1}`),
        call("run_command", { command: "stop" }, "stopped"),
        call("run_command", { command: "start" }, "started"),
      ]).flat(),
    ),
  },
];
