import { call, oneByOne, type RecordedLoop } from "./recording.ts";

const notes = (content: string) => call("update_file", { path: "notes.md", content }, "Updated notes.md.");
const readA = call("read_file", { path: "a.txt" }, "alpha");
const readB = call("read_file", { path: "b.txt" }, "beta");
const readC = call("read_file", { path: "c.txt" }, "gamma");
const listAll = call("list_files", {}, "a.txt\nb.txt\nc.txt");
const testsFail = call("run_command", { command: "npm test" }, "1 of 3 failed: adds", { failed: "execution_failed" });
const editFails = call(
  "edit_file",
  { path: "sum.ts", old_string: "a - b", new_string: "a + b" },
  "old_string not found",
  {
    failed: "invalid_parameter",
  },
);
const missing = (tool: string, args: Record<string, unknown>) =>
  call(tool, args, `There is no tool named "${tool}".`, { failed: "tool_not_found" });
const noMatches = "No matches.";
const gain = (value: number) =>
  call("run_simulation", { width: value * 7 }, `gain ${value}`, { metrics: { gain_db: value, power_mw: 3 } });

/** Recorded loops: each must be stopped by its rule within the number of calls. */
export const loops: RecordedLoop[] = [
  {
    name: "the same file again and again",
    request: "What is in a.txt?",
    repeats: oneByOne([readA]),
    rule: "repeated_call",
    within: 4,
  },
  {
    name: "the same call in parallel",
    request: "What is in a.txt?",
    repeats: [{ calls: [readA, readA, readA] }],
    rule: "repeated_call",
    within: 6,
  },
  {
    name: "the same listing with other words each time",
    request: "List.",
    opening: ["One.", "Two.", "Three.", "Four.", "Five.", "Six."].flatMap((text) => oneByOne([listAll], text)),
    repeats: oneByOne([listAll]),
    rule: "repeated_call",
    within: 4,
  },
  {
    name: "the same call with its keys in another order",
    request: "Search.",
    repeats: oneByOne([
      call("search_content", { path: ".", regex: "x" }, noMatches),
      call("search_content", { regex: "x", path: "." }, noMatches),
    ]),
    rule: "repeated_call",
    within: 4,
  },
  {
    name: "the same call, whose answer holds the time and an id",
    request: "Run it.",
    repeats: ["10:00:01", "10:00:09", "10:01:00", "10:02:30"].flatMap((time, at) =>
      oneByOne([
        call(
          "run_command",
          { command: "status" },
          `${time} job 0192d1c4-7d5e-7000-8000-00000000000${at} done in ${at}2 ms`,
        ),
      ]),
    ),
    rule: "repeated_call",
    within: 4,
  },
  {
    name: "a repeated read between new ones",
    request: "Read.",
    opening: oneByOne([
      readA,
      readB,
      readA,
      readC,
      readA,
      listAll,
      readA,
      call("read_file", { path: "d.txt" }, "delta"),
    ]),
    repeats: oneByOne([readA]),
    rule: "repeated_call",
    within: 8,
  },
  {
    name: "polling that nothing ever answers",
    request: "Wait for job 7.",
    repeats: oneByOne([call("job_status", { job: 7 }, "running")]),
    rule: "repeated_call",
    within: 20,
  },
  {
    name: "an edit that cannot match",
    request: "Fix sum.ts.",
    repeats: oneByOne([editFails]),
    rule: "same_failure",
    within: 2,
  },
  {
    name: "a file that is not there",
    request: "Read x.",
    repeats: oneByOne([call("read_file", { path: "x" }, "not there", { failed: "not_found" })]),
    rule: "same_failure",
    within: 2,
  },
  {
    name: "a failing command with nothing changed in between",
    request: "Make the tests pass.",
    repeats: oneByOne([testsFail]),
    rule: "same_failure",
    within: 2,
  },
  {
    name: "a failure between successful reads of other files",
    request: "Fix it.",
    repeats: oneByOne([editFails, readA, readB]),
    rule: "same_failure",
    within: 6,
  },
  {
    name: "a call that the user refused",
    request: "Tidy up.",
    repeats: oneByOne([call("delete_file", { path: "a.txt" }, "The user refused this call.", { failed: "denied" })]),
    rule: "same_failure",
    within: 2,
  },
  {
    name: "a failure with another unrelated file written in between",
    request: "Fix it.",
    repeats: oneByOne([editFails, notes("tried")]),
    rule: "same_failure",
    within: 6,
  },
  { name: "A-B-A-B", request: "Compare a and b.", repeats: oneByOne([readA, readB]), rule: "cycle", within: 6 },
  {
    name: "A-B-A-B in one reply each",
    request: "Compare a and b.",
    repeats: [{ calls: [readA, readB] }],
    rule: "cycle",
    within: 6,
  },
  {
    name: "A-B-C three times",
    request: "Compare.",
    repeats: oneByOne([readA, readB, readC]),
    rule: "cycle",
    within: 9,
  },
  {
    name: "A-B-C-D-E",
    request: "Compare.",
    repeats: oneByOne([readA, readB, readC, listAll, call("read_tasks", {}, "none")]),
    rule: "cycle",
    within: 15,
  },
  {
    name: "an edit that fails and a read of the same file",
    request: "Fix sum.ts.",
    repeats: oneByOne([editFails, call("read_file", { path: "sum.ts" }, "return a * b;")]),
    rule: "cycle",
    within: 6,
  },
  {
    name: "the same three calls in another order each time",
    request: "Compare.",
    opening: oneByOne([
      readA,
      readB,
      readC,
      readB,
      readA,
      readC,
      readC,
      readA,
      readB,
      readB,
      readC,
      readA,
      readA,
      readC,
      readB,
    ]),
    repeats: oneByOne([readA, readB, readC]),
    rule: "repeated_call",
    within: 12,
  },
  {
    name: "the same edit and the same failing test",
    request: "Make the tests pass.",
    repeats: oneByOne([notes("a fix"), testsFail]),
    rule: "same_failure",
    within: 5,
  },
  {
    name: "one search spelt in many ways",
    request: "Is there a report?",
    repeats: oneByOne(
      [
        "annual report",
        "Annual Report",
        "report annual",
        "annual  report ",
        '"annual report"',
        "REPORT ANNUAL",
        "Annual report.",
      ].map((query) => call("web_search", { query }, noMatches)),
    ),
    rule: "similar_call",
    within: 5,
  },
  {
    name: "one search with a larger limit each time",
    request: "Is there a report?",
    repeats: oneByOne(
      [5, 10, 20, 40, 80, 160, 320, 640].map((limit) =>
        call("web_search", { query: "annual report", limit }, noMatches),
      ),
    ),
    rule: "similar_call",
    within: 5,
  },
  {
    name: "one task created in many spellings",
    request: "Remind me of milk.",
    repeats: oneByOne(
      ["Buy milk", "buy milk", "Buy  milk", "buy milk.", "BUY MILK", "milk buy", "Buy Milk!"].map((title) =>
        call("create_task", { title }, "Created the task."),
      ),
    ),
    rule: "similar_call",
    within: 5,
  },
  {
    name: "one path in many spellings",
    request: "Read it.",
    repeats: oneByOne(
      ["src/x.ts", "./src/x.ts", "src//x.ts", "SRC/x.ts", "src/x.ts/", "./SRC/x.ts"].map((path) =>
        call("read_file", { path }, "Nothing of that name is there.", { failed: "not_found" }),
      ),
    ),
    rule: "similar_call",
    within: 5,
  },
  {
    name: "a folder made and deleted",
    request: "Make a folder.",
    repeats: oneByOne([
      call("create_folder", { path: "new" }, "Created new."),
      call("delete_file", { path: "new" }, "Deleted new."),
    ]),
    rule: "state_flapping",
    within: 6,
  },
  {
    name: "a file moved there and back",
    request: "Sort the files.",
    repeats: oneByOne([
      call("move_file", { source: "a.txt", destination: "old/a.txt" }, "Moved."),
      call("move_file", { source: "old/a.txt", destination: "a.txt" }, "Moved."),
    ]),
    rule: "state_flapping",
    within: 6,
  },
  {
    name: "a file moved there and back, looked at each time",
    request: "Sort the files.",
    repeats: oneByOne([
      call("move_file", { source: "a.txt", destination: "old/a.txt" }, "Moved."),
      listAll,
      call("move_file", { source: "old/a.txt", destination: "a.txt" }, "Moved."),
    ]),
    rule: "cycle",
    within: 9,
  },
  {
    name: "a file renamed there and back under new messages",
    request: "Find a name.",
    opening: Array.from({ length: 8 }, (_, at) =>
      oneByOne([
        call("rename_file", { path: "x/a.txt", new_name: "b.txt" }, `Renamed, change ${at}.`),
        call("rename_file", { path: "x/b.txt", new_name: "a.txt" }, `Renamed back, change ${at}.`),
      ]),
    ).flat(),
    rule: "state_flapping",
    within: 6,
  },
  {
    name: "a switch on and off",
    request: "Is the lamp right?",
    repeats: oneByOne([
      call("set_switch", { name: "lamp", on: true }, "Done."),
      call("set_switch", { name: "lamp", on: false }, "Done."),
    ]),
    rule: "state_flapping",
    within: 6,
  },
  {
    name: "an edit toggled",
    request: "Choose a title.",
    repeats: oneByOne([
      call("edit_file", { path: "t.md", old_string: "One", new_string: "Two" }, "Edited t.md: 1 line."),
      call("edit_file", { path: "t.md", old_string: "Two", new_string: "One" }, "Edited t.md: 1 line."),
    ]),
    rule: "state_flapping",
    within: 6,
  },
  {
    name: "tasks created and deleted under new ids",
    request: "Plan my day.",
    opening: Array.from({ length: 8 }, (_, at) =>
      oneByOne([
        call("create_task", { title: "Walk" }, `Created task number ${at}.`),
        call("delete_task", { task_id: `task-${at}` }, "Deleted."),
      ]),
    ).flat(),
    rule: "state_flapping",
    within: 6,
  },
  {
    name: "a file between three contents",
    request: "Write a title.",
    repeats: oneByOne(
      ["one", "two", "three"].map((title, at) =>
        call("update_file", { path: "t.md", content: title }, `Updated t.md, version ${at}.`),
      ),
    ),
    rule: "state_flapping",
    within: 7,
  },
  {
    name: "the same words before the same call",
    request: "Fix it.",
    repeats: [{ text: "Let me look at the file once more.", calls: [readA, readB, readC, listAll] }],
    rule: "cycle",
    within: 12,
  },
  {
    name: "the same forced reply",
    request: "Check all folders.",
    opening: [{ text: "I will check the folders.", calls: [listAll] }],
    repeats: [{ text: "I am going to check the rest now.", forced: true }],
    rule: "repeated_text",
    within: 1,
  },
  {
    name: "a forced reply of the same key phrases (zh)",
    request: "检查所有文件夹",
    repeats: [
      { text: "我将继续检查所有剩余的文件夹，让我逐一检查每个文件夹的内容。", forced: true },
      { text: "好的。我将继续检查所有剩余的文件夹，让我逐一检查每个文件夹的内容！", forced: true },
    ],
    rule: "repeated_text",
    within: 2,
  },
  {
    name: "replies without calls that say the same",
    request: "Go on.",
    repeats: [{ text: "I will now begin with the first step." }],
    rule: "repeated_text",
    within: 5,
  },
  {
    name: "replies of the same key phrases",
    request: "Go on.",
    repeats: [
      { text: "Sure! I will now begin with the first step of the plan." },
      { text: "Okay. I will now begin with the first step of the plan." },
      { text: "Yes, I will now begin with the first step of the plan." },
    ],
    rule: "repeated_text",
    within: 5,
  },
  {
    name: "guessing names one after the other",
    request: "Find the setting.",
    repeats: oneByOne(
      [
        "timeoutMs",
        "waitTime",
        "deadline",
        "maxWait",
        "expiry",
        "ttl",
        "delaySeconds",
        "pauseFor",
        "lifetime",
        "graceTime",
        "slowLimit",
        "patience",
      ].map((query) => call("web_search", { query }, noMatches)),
    ),
    rule: "stagnating_results",
    within: 8,
  },
  {
    name: "pages that are all empty",
    request: "List all rows.",
    repeats: Array.from({ length: 60 }, (_, page) => oneByOne([call("list_rows", { page }, "[]")])).flat(),
    rule: "stagnating_results",
    within: 8,
  },
  {
    name: "different pages of a host that is down",
    request: "Read the news.",
    repeats: oneByOne(
      ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"].map((page) =>
        call("fetch_page", { page }, "connection refused", { failed: "network" }),
      ),
    ),
    rule: "stagnating_results",
    within: 8,
  },
  {
    name: "a simulation that stands still",
    request: "Raise the gain.",
    repeats: Array.from({ length: 60 }, (_, at) =>
      oneByOne([
        call("run_simulation", { width: at }, `run ${at}`, { metrics: { gain_db: 18.5, bandwidth_mhz: 12.3 } }),
      ]),
    ).flat(),
    rule: "stagnation",
    within: 12,
  },
  {
    name: "slow progress: a gain that grows by nothing",
    request: "Raise the gain.",
    repeats: Array.from({ length: 60 }, (_, at) => oneByOne([gain(18.5 + at * 0.000_1)])).flat(),
    rule: "stagnation",
    within: 12,
  },
  {
    name: "an error that only grows",
    request: "Lower the error.",
    repeats: Array.from({ length: 60 }, (_, at) =>
      oneByOne([call("run_simulation", { step: at }, `run ${at}`, { metrics: { error: 1 + at } })]),
    ).flat(),
    rule: "stagnation",
    within: 12,
  },
  {
    name: "an edit that fails between ever new notes",
    request: "Fix it.",
    opening: Array.from({ length: 14 }, (_, at) => oneByOne([editFails, notes(`try ${at}`)])).flat(),
    rule: "same_failure",
    within: 16,
  },
  {
    name: "ever new names of tools that are not there",
    request: "Fly to the moon.",
    opening: Array.from({ length: 12 }, (_, at) => missing(`fly_${at}`, { to: `place ${at}` })).flatMap((invented) =>
      oneByOne([invented]),
    ),
    rule: "invented_calls",
    within: 4,
  },
  {
    name: "several blocked calls in turn",
    request: "Fix it.",
    opening: oneByOne([editFails, editFails, testsFail, testsFail]),
    repeats: oneByOne([editFails, testsFail]),
    rule: "same_failure",
    within: 4,
  },
];
