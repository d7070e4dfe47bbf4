import { access, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../support/source-files.ts";
import { chromiumPath, leave, openStage, rests, sees, shownTexts, type Stage } from "./console-page.ts";
import { Person, type Hand, type Theme } from "./person.ts";
import { flowsOfRuns } from "./shaping/flows-of-runs.ts";
import { flowsOfToolkits } from "./toolkit-flows.ts";

const ada = { owner: "ada", key: "key-of-ada" };
const story = "Once upon a time there was a small mill at a river.";
const rest = "And it turns to this day.";
/** Where the model waits in the middle of its story. */
let pause = Promise.withResolvers<void>();
/** The first message that the model got, request by request. */
const firstMessages: string[] = [];
/** What the model was sent last. */
let sent = "";
/** A picture of one point, and how it is pasted. */
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const paste = `{
  const clipboardData = new DataTransfer();
  const bytes = Uint8Array.from(atob("${picture}"), (letter) => letter.charCodeAt(0));
  clipboardData.items.add(new File([bytes], "image.png", { type: "image/png" }));
  document.querySelector(".composer-field").dispatchEvent(
    new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}`;

function answer({ messages }: ModelRequest): ModelStep {
  firstMessages.push(String(messages[0]?.content));
  sent = JSON.stringify(messages);
  const at = messages.findLastIndex(({ role }) => role === "user");
  const last = String(messages[at]?.content);
  if (messages.at(-2)?.content === story) return { text: rest };
  const results = messages.slice(at).filter(({ role }) => role === "tool").length;
  const ofToolkit = toolkits.map(({ answer: own }) => own?.(last, results)).find((step) => step !== undefined);
  if (ofToolkit !== undefined) return ofToolkit;
  if (results > 0) return { text: "It is done." };
  if (last.includes("a story")) {
    return { chunks: [story, " ", rest], text: `${story} ${rest}`, hold: { after: 1, until: pause.promise } };
  }
  if (last.includes("clean up")) return { toolCalls: [{ name: "delete_file", arguments: { path: "old.md" } }] };
  if (last.includes("three notes")) {
    const args = (name: string) => ({ path: `${name}.md`, content: "one\n" });
    return { toolCalls: ["a", "b", "c"].map((name) => ({ name: "create_file", arguments: args(name) })) };
  }
  return { text: `You said: ${last}` };
}

let stage: Stage;
/** What the toolkits of this copy add. */
const toolkits = await flowsOfToolkits({
  stage: () => stage,
  key: ada.key,
  held: () => pause.promise,
  goOn: () => pause.resolve(),
});
const file = (name: string): string => join(stage.server.config.workspace, name);
const isThere = (name: string): Promise<boolean> =>
  access(file(name)).then(
    () => true,
    () => false,
  );

/** The actions of a person in the console, by name. `one` is at the home page, signed in. */
const flows: Record<string, (one: Person) => Promise<void>> = {
  "sign in, and out": async (one) => {
    const { all } = one.words;
    const { page } = one.tab;
    await one.choose(`${all.app.more}: `, all.app.signOut);
    await page.getByRole("heading", { name: all.signIn.title }).waitFor();
    await one.write(all.signIn.key, ada.key);
    await one.use(all.signIn.submit);
    await page.locator(".home").waitFor();
  },
  "first message to answer": async (one) => {
    await one.begin("hello");
    await sees(one.tab, "You said: hello");
    await rests(one.tab);
    expect(await shownTexts(one.tab)).toEqual(["hello", "You said: hello"]);
  },
  "approve with other arguments": async (one) => {
    const { approval } = one.words.all;
    for (const name of ["old.md", "other.md"]) await writeFile(file(name), "old\n");
    await one.begin("clean up");
    await one.tab.page.locator(".approval-card").waitFor();
    await one.use(approval.edit, true);
    await one.write("path", "other.md");
    await one.use(approval.approve);
    await sees(one.tab, "It is done.");
    expect([await isThere("old.md"), await isThere("other.md")]).toEqual([true, false]);
  },
  "reject with words": async (one) => {
    const { approval } = one.words.all;
    await writeFile(file("old.md"), "old\n");
    const thread = await one.begin("clean up");
    await one.tab.page.locator(".approval-card").waitFor();
    await one.use(approval.reject);
    await one.write(approval.reason, "keep it");
    await one.use(approval.reject);
    await sees(one.tab, "It is done.");
    expect(await isThere("old.md")).toBe(true);
    const state = await stage.server.send("GET", `/threads/${thread}/messages`, undefined, { "x-api-key": ada.key });
    expect(await state.text()).toContain("keep it");
  },
  "stop, and continue": async (one) => {
    const { chat } = one.words.all;
    await one.begin("tell a story");
    await sees(one.tab, story);
    await one.use(chat.stop);
    await one.tab.page.getByText(chat.interrupted).waitFor();
    await rests(one.tab);
    pause.resolve();
    await one.use(chat.continue);
    await sees(one.tab, rest);
    await rests(one.tab);
  },
  "edit and run again": async (one) => {
    const { chat } = one.words.all;
    await one.begin("hello");
    await sees(one.tab, "You said: hello");
    await rests(one.tab);
    await one.use(chat.edit, true);
    await one.write(chat.edit, "good day");
    await one.use(chat.rerun);
    await sees(one.tab, "You said: good day");
    await rests(one.tab);
    await one.use(chat.olderVersion);
    await expect.poll(() => shownTexts(one.tab)).toEqual(["hello", "You said: hello"]);
  },
  fork: async (one) => {
    const thread = await one.begin("hello");
    await sees(one.tab, "You said: hello");
    await rests(one.tab);
    await one.use(one.words.all.chat.fork, true);
    await one.tab.page.waitForURL((url) => !url.pathname.endsWith(thread));
    await sees(one.tab, "You said: hello");
  },
  "undo three operations": async (one) => {
    const { operation } = one.words.all;
    await one.begin("make three notes");
    await sees(one.tab, "It is done.");
    await rests(one.tab);
    expect(await isThere("c.md")).toBe(true);
    await one.use(operation.changes);
    await one.use(operation.undoRun);
    // The server says first what that takes back.
    await one.tab.page.getByRole("dialog").last().locator(".button-primary:enabled").waitFor();
    await one.use(operation.undo, true);
    const undone = one.tab.page.locator(".conversation .operations-card[data-status=undone]");
    await expect.poll(() => undone.count()).toBe(3);
    expect([await isThere("a.md"), await isThere("b.md"), await isThere("c.md")]).toEqual([false, false, false]);
    // The question above the list of changes closes by itself, a moment after they are shown.
    await one.tab.page.locator(".path-list").waitFor({ state: "detached" });
    await one.tab.page.keyboard.press("Escape");
  },
  "read a file with its history, and take back what a run did": async (one) => {
    const { files } = one.words.manage;
    const { operation } = one.words.all;
    const { page } = one.tab;
    await one.begin("make three notes");
    await rests(one.tab);
    await one.go("/files");
    await one.use("a.md");
    await page.locator(".shaping-view .code-block").getByText("one").waitFor();
    await page.locator(".change-row .operations-card").first().waitFor();
    await one.use(files.changes);
    await one.use(files.undoRun);
    await page.getByRole("dialog").last().locator(".button-primary:enabled").waitFor();
    await one.use(operation.undo, true);
    await expect.poll(() => isThere("c.md")).toBe(false);
    await page.locator('.shaping-view .operations-card[data-status="undone"]').nth(2).waitFor();
  },
  "queue two messages": async (one) => {
    const { chat } = one.words.all;
    const queue = one.tab.page.locator(".queue li");
    await one.begin("tell a story");
    await sees(one.tab, story);
    await one.say("first");
    await expect.poll(() => queue.count()).toBe(1);
    await one.say("second");
    await expect.poll(() => queue.count()).toBe(2);
    await one.use(chat.removeQueued, true);
    await expect.poll(() => queue.allInnerTexts()).toEqual(["first"]);
    pause.resolve();
    await sees(one.tab, "You said: first");
    await rests(one.tab);
  },
  "attach a file, and paste a picture": async (one) => {
    const { chat } = one.words.all;
    await writeFile(file("notes.md"), "notes\n");
    await one.begin("hello");
    await rests(one.tab);
    await one.use(chat.attach);
    await one.write(chat.attachPath, "notes.md");
    await one.use(chat.attachAdd);
    await one.tab.page.locator(".composer .attachment").getByText("notes.md").waitFor();
    await one.tab.page.evaluate(paste);
    await one.tab.page.locator(".composer .attachment img").waitFor();
    await one.say("look at it");
    await one.tab.page.locator(".user-bubble .attachment").getByText("notes.md").waitFor();
    await one.tab.page.locator(".user-bubble .attachment img").waitFor();
    await rests(one.tab);
    await expect.poll(() => sent).toContain(`data:image/png;base64,${picture}`);
    expect(sent).toContain("notes.md");
  },
  compress: async (one) => {
    const { app, chat } = one.words.all;
    const thread = await bringIn(12);
    await one.go(`/t/${thread}`);
    await sees(one.tab, "Message 12");
    await one.say("hello");
    await sees(one.tab, "You said: hello");
    await rests(one.tab);
    await one.choose(app.openMenu, chat.compress);
    const asked = one.tab.page.waitForRequest((request) => request.url().endsWith(`/threads/${thread}/compress`));
    await one.use(one.words.work.context.compress);
    await asked;
    await one.tab.page.getByRole("dialog").waitFor({ state: "detached" });
    await rests(one.tab);
  },
  "inspect a run down to its request, and go back to a checkpoint": async (one) => {
    const { run } = one.words.work;
    const thread = await one.begin("hello there");
    await sees(one.tab, "You said: hello there");
    await rests(one.tab);
    await one.go(`/runs?thread=${thread}`);
    await one.use("agent", true);
    await one.tab.page.waitForURL(/\/run\//u);
    await one.pick("tab", run.time);
    await one.pick("treeitem", new RegExp(`^${run.kind.model}`, "u"));
    await one.tab.page.locator(".span-details").getByRole("heading", { name: run.request }).waitFor();
    await one.tab.page.locator(".span-details pre").filter({ hasText: '"messages"' }).first().waitFor();
    await one.pick("tab", run.state);
    await one.tab.page.locator(".checkpoints li").first().waitFor();
    const before = one.tab.page.url();
    await one.use(run.earlier);
    await expect.poll(() => one.tab.page.url()).not.toBe(before);
    const started = new URL(one.tab.page.url()).pathname;
    await one.use(run.rerun);
    await expect.poll(() => new URL(one.tab.page.url()).pathname).not.toBe(started);
  },
  "run any graph from its form, and answer it": async (one) => {
    const { graph } = one.words.work;
    const { approval } = one.words.all;
    await one.go("/g");
    await one.use("asking");
    await one.use(new RegExp(`^${graph.submit}\\s*Ctrl`, "u"));
    const card = one.tab.page.locator(".run-panel .approval-card");
    for (const [question, text] of [
      ["What is your name?", "Ada"],
      ["How old are you, Ada?", "36"],
    ] as const) {
      await card.getByText(question).waitFor();
      await one.write(approval.answerJson, text);
      await one.use(approval.respond);
    }
    await one.tab.page.locator('.run-panel-head .run-state[data-status="success"]').waitFor();
    await one.tab.page.locator(".channels").getByText("36").waitFor();
  },
  "change a prompt, look at it as in a chat, and set it back": async (one) => {
    const { prompts } = one.words.manage;
    const { page } = one.tab;
    const thread = await one.begin("look at the files");
    await rests(one.tab);
    const builtIn = firstMessages.at(-1);
    const sayAgain = async (): Promise<void> => {
      await one.go(`/t/${thread}`);
      const before = firstMessages.length;
      await one.say("look at the files again");
      await expect.poll(() => firstMessages.length).toBeGreaterThan(before);
      await rests(one.tab);
    };
    await one.go("/prompts");
    await one.use(/^(?:Confirmation|确认规则)/u);
    await one.write(prompts.text, "A word that confirms: {key");
    await page.getByRole("listbox", { name: prompts.complete }).waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.type(" Ask {keyword} first.");
    await page.keyboard.press("Escape");
    await one.use(prompts.use.replace("{{name}}", "{keywords}"));
    const preview = page.getByRole("group", { name: prompts.preview });
    await expect.poll(() => preview.innerText()).toMatch(/^A word that confirms: .*yes.* Ask .*yes.* first\.$/u);
    const filled = await preview.innerText();
    await one.use(prompts.save);
    await page.getByText(prompts.saved).first().waitFor();
    await sayAgain();
    expect(firstMessages.at(-1)).toContain(filled);
    expect(firstMessages.at(-1)).not.toBe(builtIn);
    await one.go("/prompts/confirmation");
    await one.use(prompts.reset);
    await page.getByText(prompts.isReset).first().waitFor();
    await sayAgain();
    expect(firstMessages.at(-1)).toBe(builtIn);
  },
  "try a tool by hand: what it would do comes before it": async (one) => {
    const { tools } = one.words.manage;
    const { page } = one.tab;
    const name = `tried-${Date.now()}.md`;
    await one.begin("try a tool");
    await rests(one.tab);
    await one.go("/tools");
    await one.use(/^create_file/u);
    await page.getByRole("heading", { name: tools.try }).waitFor();
    await one.write("path", name);
    await one.write("content", "by hand");
    await page.locator(".effect").getByText(name).waitFor();
    expect(await isThere(name)).toBe(false);
    await one.use(tools.run);
    await page.locator(".tool-result:not([data-failed])").waitFor();
    expect(await readFile(file(name), "utf8")).toBe("by hand");
  },
  "keep something in the store, find it, change it, and be rid of it": async (one) => {
    const { edit, prompts, store } = one.words.manage;
    const { page } = one.tab;
    const read = async (): Promise<string> => {
      const path = "/store/items?namespace=people.ada&key=likes";
      return (await stage.server.send("GET", path, undefined, { "x-api-key": ada.key })).text();
    };
    await one.go("/store");
    await one.use(store.add);
    await one.write(store.namespace, "people.ada");
    await one.write(store.key, "likes");
    await one.write(store.value, '{"drink": "tea"}');
    await one.use(store.add, true);
    // The dialog has a field of that name too.
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await one.write(store.value, '{"drink": "coffee"}');
    // Another has written meanwhile: what was written here stays, and one of both is chosen.
    const body = { namespace: ["people", "ada"], key: "likes", value: { drink: "water" }, ttl: 60 };
    await stage.server.send("PUT", "/store/items", body, { "x-api-key": ada.key });
    await one.use(prompts.save);
    await page.locator(".diff [data-kind=removed]").getByText("water").waitFor();
    await one.use(edit.saveOver);
    await expect.poll(read).toContain("coffee");
    expect(JSON.parse(await read())).toMatchObject({ ttl: 60 });
    await one.write(store.minutes, "90");
    await one.use(prompts.save);
    await expect.poll(read).toContain('"ttl":90');
    // What was written last comes first, until words are looked for.
    const newer = { namespace: ["people"], key: "ada.likes", value: { drink: "milk" } };
    await stage.server.send("PUT", "/store/items", newer, { "x-api-key": ada.key });
    await one.go("/store?in=people");
    const first = page.locator(".store-item").first();
    await first.getByText("milk").waitFor();
    // A key may have dots: it is not the item "likes" of "people.ada".
    await first.getByRole("checkbox").check();
    expect(await page.getByRole("checkbox", { checked: true }).count()).toBe(1);
    await first.getByRole("checkbox").uncheck();
    await one.write(store.search, "coffee");
    await first.getByText("coffee").waitFor();
    await one.use(/^likes/u);
    await one.use(store.delete);
    await page.getByRole("dialog").waitFor();
    await one.use(store.delete, true);
    await expect.poll(read).toBe("null");
  },
  "write a file in an editor, take one part of that back, and write a rule": async (one) => {
    const { agents, edit, files, prompts } = one.words.manage;
    const { operation } = one.words.all;
    const { page } = one.tab;
    const [name, rule] = [`parts-${Date.now()}.config.yaml`, `rule-${Date.now()}`];
    const text = (first: string, last: string): string =>
      [first, ...Array.from({ length: 12 }, (_, at) => `line ${at}`), last].join("\n");
    const write = async (words: string): Promise<void> => {
      await one.write(edit.text.replace("{{name}}", ""), words);
      // From here on Tab goes to the next control.
      await page.keyboard.press("Escape");
    };
    const save = new RegExp(`^${prompts.save}\\s*Ctrl`, "u");
    await writeFile(file(name), text("first", "last"));
    await one.begin("hello");
    await rests(one.tab);
    await one.go(`/files?path=${name}`);
    await one.use(edit.edit);
    await write(text("FIRST", "LAST"));
    // Another has written meanwhile: what was written here stays, and one of both is chosen.
    await writeFile(file(name), text("of another", "last"));
    await one.use(save);
    // A tool would ask before it changes such a file.
    const dialog = page.getByRole("dialog");
    await dialog.getByText(files.criticalHint).waitFor();
    await one.use(prompts.save, true);
    await page.locator(".diff [data-kind=removed]").getByText("of another").waitFor();
    expect(await readFile(file(name), "utf8")).toContain("of another");
    await one.use(edit.saveOver);
    await dialog.waitFor();
    await one.use(prompts.save, true);
    await expect.poll(() => readFile(file(name), "utf8")).toBe(text("FIRST", "LAST"));
    await page.getByText(files.wayBack).waitFor();
    await page.locator(".change-row .operation-open").first().waitFor();
    await one.use(new RegExp(`^${RegExp.escape(name)}\\s*\\+`, "u"));
    await one.use(operation.undoHunk.replace("{{hunk}}", "2"));
    await expect.poll(() => readFile(file(name), "utf8")).toBe(text("FIRST", "last"));
    await one.go("/rules");
    await one.use(agents.addRule);
    await one.write(agents.name, rule);
    await one.use(agents.begin);
    await write("---\nalwaysApply: perhaps\n---\nBe kind.");
    await page.locator('.prompt-problem[data-severity="error"]').filter({ hasText: "2" }).waitFor();
    await write("---\nalwaysApply: true\n---\nBe kind.");
    await page.getByText(agents.touchesAll).waitFor();
    await one.use(save);
    const place = file(`.autocoderrules/${rule}.md`);
    await expect.poll(() => readFile(place, "utf8").catch(() => "")).toContain("Be kind.");
    await one.use(edit.delete);
    await page.getByRole("dialog").waitFor();
    await one.use(edit.delete, true);
    await expect.poll(() => isThere(`.autocoderrules/${rule}.md`)).toBe(false);
  },
  "have the clock start runs: make a schedule, switch it off, run it now, delete it": async (one) => {
    const { crons } = one.words.manage;
    const { page } = one.tab;
    const found = async (): Promise<string> =>
      (await stage.server.send("POST", "/runs/crons/search", {}, { "x-api-key": ada.key })).text();
    await one.go("/crons");
    await one.use(crons.add);
    await one.write(crons.schedule, "15 7 * * *");
    await page.getByText(crons.rhythm.day.replace("{{time}}", "07:15")).first().waitFor();
    await one.write(crons.input, '{"messages": [{"type": "human", "content": "by the clock"}]}');
    await one.use(crons.add, true);
    await one.use(crons.switchOff);
    await expect.poll(found).toContain('"enabled":false');
    const place = new URL(page.url()).pathname.replace("/console", "");
    await one.use(crons.run);
    await page.waitForURL(/\/run\//u);
    await expect.poll(() => sent).toContain("by the clock");
    const run = new URL(page.url()).pathname;
    await one.go(place);
    await page.locator(`a[href="${run}"]`).waitFor();
    await one.use(crons.delete);
    await page.getByRole("dialog").waitFor();
    await one.use(crons.delete, true);
    await expect.poll(found).toBe("[]");
  },
  ...flowsOfRuns(() => stage, ada.key),
  ...Object.assign({}, ...toolkits.map(({ flows: own }) => own)),
  "give a vendor another key, correct a model, and change a setting": async (one) => {
    const { models, prompts, settings } = one.words.manage;
    const { page } = one.tab;
    const ask = async (path: string): Promise<string> =>
      (await stage.server.send("GET", path, undefined, { "x-api-key": ada.key })).text();
    await one.go("/vendors/openai");
    await one.write(models.setKey, "a-key-that-is-never-shown-7f3a");
    await one.use(models.saveKey);
    await page.getByText("…7f3a").waitFor();
    expect(await page.content()).not.toContain("never-shown");
    expect(await ask("/providers")).toContain('"source":"file"');
    await one.use(models.forgetKey);
    await page.getByRole("dialog").waitFor();
    await one.use(models.forgetKey, true);
    await page.getByText("…7f3a").waitFor({ state: "detached" });
    expect(await ask("/providers")).not.toContain('"source":"file"');
    await one.go("/models/openai:scripted");
    await one.use(models.test);
    await page.locator(".shaping-good").waitFor();
    await one.use(models.edit);
    const before = await ask("/models/openai:scripted");
    const tokens = before.includes('"context":64000') ? 65_000 : 64_000;
    await one.write(models.window, String(tokens));
    await one.write(models.priceFields.input, "1.5");
    await one.write(models.priceFields.output, "6");
    await one.use(prompts.save);
    await expect.poll(() => ask("/models/openai:scripted")).toContain(`"context":${tokens}`);
    expect(await ask("/models/openai:scripted")).toContain('"price":{"input":1.5,"output":6,"currency":"USD"}');
    await one.go("/settings");
    await one.use(settings.changeOf.replace("{{name}}", "MILLRACE_TOOL_RATE"));
    await one.write(settings.valueOf.replace("{{name}}", "MILLRACE_TOOL_RATE"), "7");
    await one.use(prompts.save);
    await page.locator('.setting .chip[data-source="changed"]').first().waitFor();
    expect(await ask("/settings")).toMatch(/"MILLRACE_TOOL_RATE","value":7,"source":"changed"/u);
    await one.use(settings.resetOf.replace("{{name}}", "MILLRACE_TOOL_RATE"));
    await expect.poll(() => ask("/settings")).toMatch(/"MILLRACE_TOOL_RATE","value":null/u);
  },
  "export a chat, and bring it in again": async (one) => {
    const { app, threads } = one.words.all;
    const { page } = one.tab;
    await one.begin("carried over");
    await sees(one.tab, "You said: carried over");
    await rests(one.tab);
    if (await page.locator(".list-pane").isHidden()) await one.use(app.showList);
    const saved = page.waitForEvent("download");
    await one.choose(threads.actions.replace("{{name}}", "carried over"), threads.exportJson);
    const path = await (await saved).path();
    expect(await readFile(path, "utf8")).toContain("carried over");
    const asked = page.waitForEvent("filechooser");
    const before = page.url();
    await one.use(threads.import, true);
    await (await asked).setFiles(path);
    await expect.poll(() => page.url()).not.toBe(before);
    await sees(one.tab, "You said: carried over");
  },
  "answer from the inbox": async (one) => {
    const { app } = one.words.all;
    await writeFile(file("old.md"), "old\n");
    await one.begin("clean up");
    await one.tab.page.locator(".approval-card").waitFor();
    await one.use(app.inbox);
    await one.tab.page.locator(".inbox .approval-card").first().waitFor();
    await one.approveAll(".inbox .approval-card");
    await expect.poll(() => isThere("old.md")).toBe(false);
  },
  "find what a chat has deleted in the marked files, with its history": async (one) => {
    const { files } = one.words.manage;
    const { page } = one.tab;
    await writeFile(file("old.md"), "old\n");
    const thread = await one.begin("clean up");
    await one.tab.page.locator(".approval-card").waitFor();
    await one.approveAll(".approval-card");
    await sees(one.tab, "It is done.");
    await rests(one.tab);
    await one.go(`/files?thread=${thread}`);
    await page.locator(".file-tree s").getByText("old.md").waitFor();
    await one.use("old.md");
    await page.getByText(files.goneHint).waitFor();
    await page.locator(".change-row .operations-card").first().waitFor();
  },
};

/** Brings in a chat of so many messages. */
async function bringIn(count: number): Promise<string> {
  const messages = Array.from({ length: count }, (_, index) => {
    return { type: index % 2 === 0 ? "human" : "ai", id: `m${index}`, content: `Message ${index + 1}` };
  });
  const exported = { format: "millrace.session", version: 1, session_name: "Long", graph_id: "agent", messages };
  const made = await stage.server.send("POST", "/threads/import", exported, { "x-api-key": ada.key });
  return z.object({ thread_id: z.string() }).parse(await made.json()).thread_id;
}
/** Everyone: with a mouse or the keyboard alone, on both screens, in both languages; two of them are the usual sample, by turns. */
const everyone = (["mouse", "keys"] as const).flatMap((how) =>
  [1280, 390].flatMap((width) => (["en", "zh-CN"] as const).map((locale): Hand => ({ how, width, locale }))),
);
const isSample = process.env["LOOKS"] !== "8";
const hands = isSample ? [0, 7].flatMap((index) => everyone[index] ?? []) : everyone;
/** The theme of a flow: by turns for each of them, and where all have all flows, both for each flow and each screen. */
function themeOf(flow: string, hand: Hand): Theme {
  const place = everyone.indexOf(hand);
  const turn = Math.floor(Object.keys(flows).indexOf(flow) / 2) + place + Math.floor(place / 4);
  return turn % 2 === 0 ? "light" : "dark";
}

describe.skipIf(chromiumPath === undefined)("what people do in the console", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-flows-"));
    const graphs = {
      agent: join(projectFolder, "src/graph/workflow.ts:workflow"),
      asking: join(projectFolder, "tests/fixtures/graphs/asking.ts:graph"),
    };
    await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
    stage = await openStage(answer, { apiKeys: [ada], graphs: join(folder, "langgraph.json") });
    await stage.server.send("POST", "/models", { name: "openai:scripted", vision: true }, { "x-api-key": ada.key });
  });
  afterAll(async () => {
    pause.resolve();
    await stage.close();
    await rm(folder, { recursive: true, force: true });
  });

  describe.each(hands)("with $how, $width pixels wide, $locale", (hand) => {
    let one: Person;
    beforeAll(async () => {
      one = await Person.at(stage, hand);
      await one.write(one.words.all.signIn.key, ada.key);
      await one.use(one.words.all.signIn.submit);
      await one.tab.page.locator(".home").waitFor();
    });
    afterAll(() => leave(one.tab));

    const own = Object.entries(flows).filter((_, at) => !isSample || everyone.indexOf(hand) % 2 === at % 2);
    it.each(own)("%s", { timeout: 120_000 }, async (name, flow) => {
      await one.see(themeOf(name, hand));
      pause.resolve();
      pause = Promise.withResolvers<void>();
      // What was deleted last leads back to its list, and its dialog closes after that.
      await one.tab.page.getByRole("dialog").first().waitFor({ state: "detached" });
      await one.go("/");
      await one.tab.page.locator(".home, .sign-in").first().waitFor();
      await flow(one);
      expect(one.tab.problems).toEqual([]);
      // As one text, so that a failure says what was found.
      expect(one.findings.splice(0).join("\n")).toBe("");
    });
  });
});
