import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { hasToolkit, projectFolder } from "../support/source-files.ts";
import { axeFindings, chromiumPath, holdBack, leave, openStage, type Stage, type Tab } from "./console-page.ts";

/** A folder for pictures of the screens, for a look at them; none are made without it. */
const pictures = process.env["SCREENS"];

const long = "an_unusually_long_name_that_no_line_has_room_for_".repeat(3);
const reply = `## What I found

Three files, of which **one** is [documented](docs/readme.md), see <https://example.com/${long}>.

#### A level deeper than it should be

| file | lines | what for |
|---|---:|---|
| \`src/${long}.ts\` | 12 | the beginning |

\`\`\`ts
export const answer: number = 42; // ${long}
\`\`\`

The mean is $\\bar{x} = \\frac{1}{n}\\sum x_i$, and

$$\\int_0^1 x^2\\,dx = \\frac{1}{3}$$

- [x] read
- [ ] written

> 中文的引用，**“重要”**的事。`;

function answer({ messages }: ModelRequest): ModelStep {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = String(messages[at]?.content);
  if (messages.slice(at).some(({ role }) => role === "tool")) return { text: reply };
  if (last.includes("note")) {
    return {
      reasoning: "First a look, then a note.",
      text: "I look around.",
      toolCalls: [
        {
          name: "write_todos",
          arguments: {
            todos: [
              { content: "Look around", status: "completed" },
              { content: `Read ${long}`, status: "in_progress" },
              { content: "Write a note", status: "pending" },
            ],
          },
        },
        { name: "list_files", arguments: { path: "" } },
        { name: "read_file", arguments: { path: `${long}.md` } },
        { name: "create_file", arguments: { path: "notes/today.md", content: "# Today\n\nA note.\n" } },
      ],
    };
  }
  if (last.includes("report")) {
    const options = ["The one of May", `The one of ${long}`];
    return {
      toolCalls: [{ name: "ask_followup_question", arguments: { question: "Which report do you mean?", options } }],
    };
  }
  return { text: "I remove it.", toolCalls: [{ name: "delete_file", arguments: { path: "old.md" } }] };
}

/** Every width with every language and theme; two that have each of them once are the usual sample. */
const allLooks = ([1280, 390] as const).flatMap((width) =>
  (["en", "zh-CN"] as const).flatMap((locale) =>
    (["light", "dark"] as const).map((theme) => ({ width, height: width === 390 ? 844 : 800, locale, theme })),
  ),
);
type Look = (typeof allLooks)[number];
const sample = [0, 7].flatMap((index) => allLooks[index] ?? []);
const isSample = process.env["LOOKS"] !== "8";
const looks = isSample ? sample : allLooks;

/** A screen: where it is, what shows that it is there, and what is done before it is looked at. */
interface Screen {
  name: string;
  path: string;
  part: string;
  before?: (tab: Tab) => Promise<void>;
}

let stage: Stage;
let threads: Record<"note" | "report" | "clean" | "tidy", string>;
let run: string;
let cron: string;
let tidied: string;

/** Goes to a place as a link of the page does. */
async function go({ page }: Tab, { path, part }: Pick<Screen, "path" | "part">): Promise<void> {
  await page.evaluate(`history.pushState(null, "", "/console${path}")`);
  await page.locator(part).first().waitFor();
}

/** The screens that were looked at, in their order, and how often. */
const looked = new Map<string, { place: number; times: number }>();

/** What is wrong with a screen, by axe and by its edges. In the usual sample axe judges each in one of both looks, by turns. */
async function findings({ page }: Tab, name: string, look: Look): Promise<string[]> {
  const { width, height, locale, theme } = look;
  if (pictures !== undefined) {
    await page.screenshot({ path: join(pictures, `${name}-${width}-${theme}-${locale}.png`) });
  }
  const { place, times } = looked.get(name) ?? { place: looked.size, times: 0 };
  looked.set(name, { place, times: times + 1 });
  const isJudged = !isSample || (place + times) % 2 === 0;
  const found = isJudged ? (await axeFindings({ page })).map((finding) => `${name}: ${finding}`) : [];
  // A phone may be narrower still.
  const narrowest = width === 390 ? 320 : width;
  if (narrowest < width) await page.setViewportSize({ width: narrowest, height });
  const wide = Number(await page.evaluate("document.documentElement.scrollWidth"));
  if (wide > narrowest) found.push(`${name} is ${wide} pixels wide at ${narrowest}`);
  if (narrowest < width) await page.setViewportSize({ width, height });
  return found;
}

/** Everything that is closed in the conversation is opened. */
async function openAll({ page }: Tab): Promise<void> {
  const closed = page.locator(".conversation [aria-expanded=false]");
  while ((await closed.count()) > 0) await closed.last().click();
}

/** A prompt with all that can be wrong with it. */
async function writePrompt({ page }: Tab): Promise<void> {
  const text = page.locator(".prompt-text textarea");
  await text.fill(`${await text.inputValue()}\n{keywrds} ${long}`);
  await page.locator(".prompt-problem").first().waitFor();
  await page.locator(".diff").waitFor();
}

/** Words of a prompt that are found, and replaced one by one and all at once. */
async function replaceWords({ page }: Tab): Promise<void> {
  const text = page.locator(".prompt-text textarea");
  await text.fill("One mill, two mills, three mills.");
  await page.locator(".prompt-head .icon-button").click();
  const bar = page.locator(".prompt-editor [role=search]");
  await bar.locator("input").first().fill("mill");
  await bar.locator("input").nth(1).fill("windmill");
  const press = async (button: number, words: string): Promise<void> => {
    await bar.locator(".button").nth(button).click();
    await expect.poll(() => text.inputValue()).toBe(words);
  };
  await press(0, "One windmill, two mills, three mills.");
  await text.press("Control+z");
  await expect.poll(() => text.inputValue()).toBe("One mill, two mills, three mills.");
  await press(1, "One windmill, two windmills, three windmills.");
}

/** The form behind the first button of what is shown. */
async function showForm({ page }: Tab): Promise<void> {
  await page.locator(".shaping-view .prompt-head .button").first().click();
  await page.locator(".shaping-form").first().waitFor();
}

/** The newest day of a chart, by the keyboard. */
async function markDay({ page }: Tab): Promise<void> {
  await page.locator(".bar-chart [role=slider]").focus();
  await page.keyboard.press("ArrowLeft");
  await page.locator(".bar-chart [data-marked]").waitFor({ state: "attached" });
}

/** The first difference of two runs, with what the two calls were given. */
async function openFirst({ page }: Tab): Promise<void> {
  await page.locator(".compare .prompt-part .row-between .button").first().click();
  await page.locator(".compare-rows [data-first] button").first().click();
  await page.locator(".compare-calls").waitFor();
}

/** A schedule that is changed to one that cannot be read. */
async function changeCron({ page }: Tab): Promise<void> {
  await page.locator(".prompt-head [aria-expanded]").click();
  await page.locator(".shaping-form input").first().fill(long);
  await page.locator(".prompt-problem").waitFor();
}

/** The curves of a circuit, and one of its simulations with what had changed. */
async function showCircuit({ page }: Tab): Promise<void> {
  await page.locator(".iteration-open").first().click();
  await page.locator(".iteration-body").waitFor();
}

/** A memory that has a slot. */
async function openMemory({ page }: Tab): Promise<void> {
  await page.locator(".shaping-entry").first().click();
  await page.locator(".schema-form textarea").waitFor();
}

/** A tool that is tried, with all that it would do. */
async function tryTool({ page }: Tab): Promise<void> {
  await page.locator(".schema-form .form-control").first().fill(`notes/${long}.md`);
  await page.locator(".schema-form .form-control").nth(1).fill(`${long}\n`);
  await page.locator(".effect .diff").waitFor();
}

/** What is always allowed, by the menu of the chat. */
async function showAllowed({ page }: Tab): Promise<void> {
  await page.locator(".title-bar [aria-haspopup=menu]").click();
  await page.getByRole("menuitem", { name: /^(Always allowed here|此处始终允许的操作)$/ }).click();
  await page.getByRole("dialog").locator(".blank-title").waitFor();
}

/** What is known of the chat, by its menu. */
async function showAbout({ page }: Tab): Promise<void> {
  await page.locator(".title-bar [aria-haspopup=menu]").click();
  await page.getByRole("menuitem", { name: /^(About this chat|关于此对话)$/ }).click();
  await page.getByRole("dialog").locator(".facts").nth(1).waitFor();
}

/** The text of what is shown, in an editor. */
async function editText({ page }: Tab): Promise<void> {
  await page.locator(".prompt-head .button").last().click();
  await page.locator(".prompt-text textarea").fill(`${long}\n`.repeat(3));
  await page.locator(".draft-editor .button-primary:enabled, .prompt-problem").first().waitFor();
}

/** A screen that is there as long as its toolkit is. */
function ofToolkit(toolkit: string, screen: Screen): Screen[] {
  return hasToolkit(toolkit) ? [screen] : [];
}

function screens(): Screen[] {
  const { note, report, clean } = threads;
  const views = { graph: ".graph-node", time: ".span-row", state: ".checkpoints li", events: ".event-row" };
  return [
    { name: "home", path: "/", part: ".home-thread" },
    {
      name: "palette",
      path: "/",
      part: ".home-thread",
      before: async ({ page }) => {
        await page.keyboard.press("Control+k");
        await page.getByRole("option").first().waitFor();
      },
    },
    {
      name: "keys",
      path: "/inbox",
      part: ".approval-card",
      before: async ({ page }) => {
        await page.keyboard.press("Escape");
        await page.locator("main").focus();
        await page.keyboard.press("?");
        await page.getByRole("dialog").waitFor();
      },
    },
    {
      name: "inbox",
      path: "/inbox",
      part: ".approval-card",
      before: async ({ page }) => {
        await page.keyboard.press("Escape");
        await page.getByRole("dialog").waitFor({ state: "detached" });
      },
    },
    { name: "chat", path: `/t/${note}`, part: ".formula math" },
    { name: "chat-open", path: `/t/${note}`, part: ".conversation-item", before: openAll },
    { name: "chat-about", path: `/t/${note}`, part: ".conversation-item", before: showAbout },
    { name: "chat-past", path: `/t/${note}?at=`, part: ".past-bar" },
    {
      name: "changes",
      path: `/t/${note}`,
      part: ".conversation-item",
      before: async ({ page }) => {
        await page.locator(".title-bar .changes-button").click();
        await page.getByRole("dialog").waitFor();
      },
    },
    {
      name: "question",
      path: `/t/${report}`,
      part: ".approval-card",
      before: async ({ page }) => page.keyboard.press("Escape"),
    },
    { name: "approval", path: `/t/${clean}`, part: ".approval-card" },
    {
      name: "approval-edit",
      path: `/t/${clean}`,
      part: ".approval-card",
      before: async ({ page }) => {
        await page.locator(".approval-buttons .button").nth(1).click();
        await page.locator(".approval-card .form-control").fill(`notes/${long}.md`);
      },
    },
    {
      name: "approve-several",
      path: "/inbox",
      part: ".inbox .approval-card",
      before: async ({ page }) => {
        await page.locator(".page-head .button").click();
        await page.getByRole("dialog").locator(".diff").nth(1).waitFor();
        await page.getByRole("checkbox").nth(1).check();
      },
    },
    {
      name: "call-again",
      path: `/t/${note}`,
      part: ".conversation-item",
      before: async (tab) => {
        await openAll(tab);
        await tab.page.locator(".tool-body .button").last().click();
        await tab.page.getByRole("dialog").locator(".form-control").first().waitFor();
        await tab.page.getByRole("dialog").locator(".effect, .problem").first().waitFor();
      },
    },
    {
      name: "slash",
      path: `/t/${report}`,
      part: ".composer-field",
      before: async ({ page }) => page.locator(".composer-field").fill("/"),
    },
    { name: "allowed", path: `/t/${note}`, part: ".conversation-item", before: showAllowed },
    { name: "runs", path: "/runs", part: ".run-row[data-run]" },
    { name: "runs-none", path: "/runs?state=timeout", part: ".main .blank-title" },
    { name: "graphs", path: "/g", part: ".graph-card" },
    { name: "graph", path: "/g/agent", part: ".graph-node" },
    ...Object.entries({ ...views, usage: ".usage-table" }).map(([view, part]) => ({
      name: `run-${view}`,
      path: `/t/${note}/run/${run}?view=${view}`,
      part,
    })),
    {
      name: "compare",
      path: `/compare?left=${note}/${run}&right=${threads.tidy}/${tidied}`,
      part: ".compare-rows [data-first]",
      before: openFirst,
    },
    { name: "context", path: `/t/${note}/context`, part: ".context-request .diff" },
    { name: "prompts", path: "/prompts", part: ".shaping-entry" },
    { name: "prompt", path: "/prompts/confirmation", part: ".prompt-editor pre", before: writePrompt },
    { name: "identity", path: "/identity/general", part: ".prompt-editor pre" },
    { name: "identity-find", path: "/identity/general", part: ".prompt-editor pre", before: replaceWords },
    { name: "prompt-gone", path: "/prompts/none", part: ".shaping-one .blank-title" },
    { name: "models", path: "/models", part: ".shaping-entry" },
    { name: "model", path: "/models/openai:scripted", part: ".facts", before: showForm },
    { name: "vendor", path: "/vendors/openai", part: ".facts", before: showForm },
    { name: "vendor-gone", path: "/vendors/none", part: ".shaping-one .blank-title" },
    { name: "roles", path: "/roles", part: ".role" },
    { name: "statistics", path: "/statistics", part: ".bar-chart", before: markDay },
    ...ofToolkit("planner", { name: "tasks", path: "/tasks?view=day", part: ".task-row" }),
    { name: "agent", path: "/agents/reviewer", part: ".json-view" },
    { name: "agent-gone", path: "/agents/none", part: ".shaping-one .blank-title" },
    { name: "rule", path: "/rules?path=.autocoderrules%2Fstyle.md", part: ".json-view" },
    { name: "rule-edit", path: "/rules?path=.autocoderrules%2Fstyle.md", part: ".json-view", before: editText },
    { name: "tools", path: "/tools", part: ".shaping-entry" },
    { name: "tool", path: "/tools/create_file", part: ".schema-form .form-control", before: tryTool },
    { name: "tool-gone", path: "/tools/none", part: ".shaping-one .blank-title" },
    { name: "mcp", path: "/mcp/far", part: ".facts" },
    { name: "mcp-gone", path: "/mcp/none", part: ".shaping-one .blank-title" },
    { name: "library-docs", path: "/docs", part: ".shaping-list .input" },
    { name: "files", path: "/files?path=notes%2Ftoday.md", part: ".change-row" },
    { name: "changes-all", path: "/changes", part: ".shaping-view .operations-card" },
    { name: "file-edit", path: "/files?path=notes%2Ftoday.md", part: ".change-row", before: editText },
    { name: "file-gone", path: "/files?path=none.md", part: ".shaping-view .blank-title" },
    ...ofToolkit("circuits", {
      name: "circuit",
      path: "/circuits?name=low%2Fpass.cir&part=waveforms",
      part: ".plot-curves path",
      before: showCircuit,
    }),
    { name: "circuit-gone", path: "/circuits?name=none.cir", part: ".shaping-one .blank-title" },
    { name: "store", path: "/store?in=users", part: ".store-item" },
    { name: "store-item", path: "/store?in=users.ada&key=likes", part: ".form-json textarea" },
    { name: "store-gone", path: "/store?in=users&key=none", part: ".shaping-one .blank-title" },
    ...ofToolkit("memory", { name: "memory", path: "/memory", part: ".shaping-entry", before: openMemory }),
    { name: "crons", path: "/crons", part: ".shaping-entry" },
    { name: "cron", path: `/crons/${cron}`, part: ".facts", before: changeCron },
    { name: "cron-gone", path: "/crons/none", part: ".shaping-one .blank-title" },
    { name: "settings", path: "/settings", part: ".setting" },
    { name: "server", path: "/server", part: ".facts" },
    ...ofToolkit("web", { name: "web-search", path: "/web-search", part: ".disclosure" }),
    { name: "ollama", path: "/vendors/ollama", part: ".steps" },
    { name: "gone", path: "/t/00000000-0000-7000-8000-000000000000", part: "h1.blank-title" },
    { name: "nowhere", path: "/nowhere", part: "h1.blank-title" },
  ];
}

describe.skipIf(chromiumPath === undefined)("the screens of the console", () => {
  beforeAll(async () => {
    stage = await openStage(answer);
  });
  afterAll(() => stage.close());

  it("are empty at first, and say what to do", async () => {
    for (const look of sample) {
      const tab = await stage.open(look);
      const found: string[] = [];
      for (const [name, path, part] of [
        ["home-new", "/", ".examples"],
        ["inbox-empty", "/inbox", ".main .blank-title"],
        ["runs-empty", "/runs", ".main .blank-title"],
        ["changes-empty", "/changes", ".main .blank-title"],
        ["circuits-empty", "/circuits", ".shaping-list .blank-title"],
        ["store-empty", "/store?in=", ".shaping-one .blank-title"],
        ["statistics-empty", "/statistics", ".statistics .blank-title"],
        ["mcp-empty", "/mcp", ".shaping-list .hint"],
        ["tasks-empty", "/tasks", ".tasks .blank-title"],
      ] as const) {
        await go(tab, { path, part });
        found.push(...(await findings(tab, name, look)));
      }
      expect(found).toEqual([]);
      await leave(tab);
    }
    // A chat in which nothing was said is one of the list.
    const { thread_id } = await stage.server.client.threads.create();
    for (const look of sample) {
      const tab = await stage.open(look);
      await go(tab, { path: `/t/${thread_id}`, part: ".chat .blank-title" });
      expect(await findings(tab, "chat-empty", look)).toEqual([]);
      await go(tab, { path: `/t/${thread_id}/context`, part: ".main .blank-title" });
      expect(await findings(tab, "context-empty", look)).toEqual([]);
      await leave(tab);
    }
  });

  describe("with something in them", () => {
    beforeAll(async () => {
      await writeFile(join(stage.server.config.workspace, "old.md"), "old\n".repeat(30));
      const { client } = stage.server;
      await client.store.putItem(["users", "ada"], "likes", { drink: "tea", why: long });
      await client.store.putItem(["users", "ada", "work"], long, { text: "one two ".repeat(100) });
      const made = await client.crons.create("agent", { schedule: "30 9 * * 1-5", input: { messages: [] } });
      cron = made.cron_id;
      const start = async (content: string): Promise<{ thread: string; run: string }> => {
        const { thread_id: thread } = await client.threads.create();
        const input = { messages: [{ type: "human", content }] };
        const { run_id } = await client.runs.create(thread, "agent", {
          input,
          streamMode: ["tasks", "messages-tuple"],
        });
        await client.runs.join(thread, run_id);
        return { thread, run: run_id };
      };
      const noted = await start("make a note");
      run = noted.run;
      const report = await start("list the reports");
      const clean = await start("clean up");
      const tidy = await start("tidy up");
      threads = {
        note: noted.thread,
        report: report.thread,
        clean: clean.thread,
        tidy: tidy.thread,
      };
      tidied = tidy.run;
      await stage.server.send("PUT", "/mcp/servers/far", { url: `http://127.0.0.1:1/${long}` });
      await stage.server.send("POST", "/mcp/servers/far/reconnect");
      await stage.server.send("POST", "/api/tasks", { title: long, scheduled_date: "2026-01-05" });
      await stage.server.send("POST", "/api/tasks", { title: "Some day" });
      await stage.server.send("POST", "/api/memory", { kind: "entity", slot: "employer", content: long });
      // After the runs: what is found in these files changes what a model gets.
      const { workspace } = stage.server.config;
      const [agents, rules] = [join(workspace, ".autocoderagents"), join(workspace, ".autocoderrules")];
      for (const folder of [agents, rules]) await mkdir(folder);
      const reviewer = "name: reviewer\ndescription: Reviews\ntools: read_file, list_files\nmodel: openai:scripted";
      await writeFile(join(agents, "reviewer.md"), `---\n${reviewer}\n---\nYou review. ${long}\n`);
      await writeFile(join(rules, "style.md"), `---\nglobs: ["*.md", "${long}"]\n---\nWrite plainly. ${long}\n`);
      await mkdir(join(workspace, "low"));
      await copyFile(join(projectFolder, "samples/circuits/rc-low-pass.cir"), join(workspace, "low/pass.cir"));
      await writeFile(join(workspace, "low/pass_goals.json"), '[{ "metric": "bandwidth", "target": "1 kHz" }]');
      const simulate = `/threads/${noted.thread}/tools/run_simulation/run`;
      await (await stage.server.send("POST", simulate, { args: { circuit: "low/pass.cir" } })).text();
      await writeFile(join(rules, "wrong.md"), "---\nglobs: [\n---\n");
    });

    it.each(looks)(
      "have no fault that axe finds, and no edge beyond the window: $width $locale $theme",
      { timeout: 300_000 },
      async (look) => {
        const tab = await stage.open(look);
        const found: string[] = [];
        for (const screen of screens()) {
          await go(tab, screen);
          await screen.before?.(tab);
          found.push(...(await findings(tab, screen.name, look)));
        }
        await tab.page.route("**/me", (route) => route.fulfill({ status: 401, json: { message: "No key." } }));
        await tab.page.goto(`${stage.server.url}/console/`);
        await tab.page.locator(".sign-in-card").waitFor();
        found.push(...(await findings(tab, "sign-in", look)));
        expect(found).toEqual([]);
        await leave(tab);
      },
    );

    /** What a screen cannot do without: where it asks for it, and where the screen is. */
    const needs = () =>
      [
        ["/t/:thread", `/threads/${threads.note}/messages`, `/t/${threads.note}`],
        ["/inbox", "/approvals", "/inbox"],
        ["/runs", "/runs", "/runs"],
        ["/t/:thread/run/:run", `/threads/${threads.note}/runs/${run}`, `/t/${threads.note}/run/${run}`],
        ["the bars of a run", `/threads/${threads.note}/runs/${run}/trace`, `/t/${threads.note}/run/${run}?view=time`],
        ["the use of a run", `/threads/${threads.note}/runs/${run}/trace`, `/t/${threads.note}/run/${run}?view=usage`],
        ["the states of a run", `/threads/${threads.note}/history`, `/t/${threads.note}/run/${run}?view=state`],
        [
          "the events of a run",
          `/threads/${threads.note}/runs/${run}/stream`,
          `/t/${threads.note}/run/${run}?view=events`,
        ],
        ["the drawing of a graph", "/assistants/agent/graph", "/g/agent"],
        ["the form of a graph", "/assistants/agent/schemas", "/g/agent"],
        ["/t/:thread/context", `/threads/${threads.note}/context`, `/t/${threads.note}/context`],
        ["/prompts", "/prompts", "/prompts"],
        ["/prompts/:name", "/prompts/confirmation", "/prompts/confirmation"],
        ["/identity", "/identity/profiles", "/identity"],
        ["the models of a server", "/models", "/models"],
        ["the facts of a model", "/models/openai%3Ascripted", "/models/openai:scripted"],
        ["the vendors of a server", "/providers", "/vendors"],
        ["the tree of a workspace", "/files", "/files"],
        ["the content of a file", "/files/content", "/files?path=old.md"],
        ["the changes of a workspace", "/operations", "/changes"],
        ["the circuits of a workspace", "/circuits", "/circuits"],
        ["the text of a circuit", "/circuits/pass.cir", "/circuits?name=pass.cir"],
        ["the settings of a server", "/settings", "/settings"],
        ["the figures of a server", "/server", "/server"],
        ["/g", "/assistants/search", "/g"],
        ["/g/:assistant", "/assistants/agent", "/g/agent"],
        ["the list of chats", "/threads/info/search", "/"],
        ["the tools of a server", "/tools", "/tools"],
        ["the servers of a tool", "/mcp/servers", "/mcp"],
        ["the libraries of a project", "/library-docs", "/docs"],
        ["/agents", "/agents", "/agents"],
        ["/rules", "/rules", "/rules"],
        ["the namespaces of a store", "/store/namespaces", "/store"],
        ["the schedules of a server", "/runs/crons/search", "/crons"],
        ["the numbers of a model", "/usage/models", "/statistics"],
        ["the tasks of a planner", "/api/tasks/search", "/tasks"],
        ["the memories of a person", "/api/memory", "/memory"],
        [
          "the second of a pair",
          `/threads/${threads.tidy}/runs/${tidied}`,
          `/compare?left=${threads.note}/${run}&right=${threads.tidy}/${tidied}`,
        ],
        ["the items of a store", "/store/items/search", "/store?in=users"],
      ] as const;
    const failures = [
      [403, "You have no access to this"],
      [404, /no longer exists|not available|not served|no drawing/iu],
      [500, "That did not work"],
    ] as const;

    it.each(failures)(
      "say what it is when the server is slow and answers %i",
      { timeout: 300_000 },
      async (status, words) => {
        const tab = await stage.open();
        const { page } = tab;
        const found: string[] = [];
        const place = failures.findIndex(([one]) => one === status);
        for (const [at, [name, asked, path]] of needs().entries()) {
          // The parts of a screen fail in one way each, in the usual sample.
          if (isSample && /^the \w+ of a /u.test(name) && at % failures.length !== place) continue;
          const held = await holdBack(tab, `${stage.server.url}${asked}`);
          await page.goto(`${stage.server.url}/console${path}`, { waitUntil: "commit" });
          await page.locator(".loading").first().waitFor();
          held.answer(status, { error: "x", message: `Answer ${status}.` });
          const blank = page.locator(".blank-title").filter({ hasText: words });
          await blank
            .first()
            .waitFor()
            .catch(() => found.push(`${name} says nothing of ${status}`));
          if (status === 500) found.push(...(await axeFindings(tab)).map((finding) => `${name} ${status}: ${finding}`));
          await held.release();
        }
        expect(found).toEqual([]);
        await leave(tab);
      },
    );
  });
});
