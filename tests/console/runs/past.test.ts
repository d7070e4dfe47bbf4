import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { en } from "../../../console/text/en.ts";
import { workEn } from "../../../console/text/inspector/en.ts";
import {
  begin,
  chromiumPath,
  leave,
  openStage,
  press,
  rests,
  say,
  sees,
  shownTexts,
  storedTexts,
  type Stage,
  type Tab,
} from "../console-page.ts";

let stage: Stage;
let tab: Tab;
const { run: words } = workEn;
const firstTexts = ["first", "You said: first"];
const allTexts = [...firstTexts, "second", "You said: second"];

const button = (name: string) => tab.page.getByRole("button", { name, exact: true });

/** A chat of two turns, as it was after the first one; gives its id. */
async function lookBack(): Promise<string> {
  tab = await stage.open();
  const thread = await begin(tab, "first");
  await sees(tab, "You said: first");
  await rests(tab);
  await say(tab, "second");
  await sees(tab, "You said: second");
  await rests(tab);
  await tab.page.locator("body").click({ position: { x: 1, y: 1 } });
  await press(tab, "[");
  await tab.page.locator(".past-bar").waitFor();
  for (let steps = 0; steps < 40 && (await shownTexts(tab)).length !== firstTexts.length; steps += 1) {
    const before = tab.page.url();
    const answered = tab.page.waitForResponse(/\/messages\?.*checkpoint_id=/u);
    await press(tab, "[");
    await answered;
    await expect.poll(() => tab.page.url()).not.toBe(before);
    await tab.page.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))");
  }
  expect(await shownTexts(tab)).toEqual(firstTexts);
  return thread;
}

describe.skipIf(chromiumPath === undefined)("a chat as it was", () => {
  beforeAll(async () => {
    stage = await openStage(({ messages }) => ({ text: `You said: ${String(messages.at(-1)?.content)}` }));
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  it("is read and not changed, has an address, and the way back to now", async () => {
    const thread = await lookBack();
    const { page } = tab;
    expect(await page.locator(".composer-field, .message-actions, .title-field").count()).toBe(0);
    await page.reload();
    await expect.poll(() => shownTexts(tab)).toEqual(firstTexts);
    await page
      .locator(".past-bar")
      .getByText(/As of \d/u)
      .waitFor();
    await page.getByRole("slider").press("End");
    await expect.poll(() => shownTexts(tab)).toEqual(allTexts);
    await expect.poll(() => button(words.goOnHere).isDisabled()).toBe(true);
    await button(words.now).click();
    await page.locator(".composer-field").waitFor();
    expect(new URL(page.url()).search).toBe("");
    expect(await storedTexts(stage, thread)).toEqual(allTexts);
  });

  it("goes on from there, and the later messages stay as another version", async () => {
    const thread = await lookBack();
    await button(words.goOnHere).click();
    await tab.page.locator(".composer-field").waitFor();
    await expect.poll(() => shownTexts(tab)).toEqual(firstTexts);
    await say(tab, "third");
    await sees(tab, "You said: third");
    await rests(tab);
    expect(await storedTexts(stage, thread)).toEqual([...firstTexts, "third", "You said: third"]);
  });

  it("is copied as it was, and the chat itself stays", async () => {
    const thread = await lookBack();
    await button(words.copyHere).click();
    await tab.page.locator(".composer-field").waitFor();
    const copy = new URL(tab.page.url()).pathname.split("/").at(-1) ?? "";
    expect(copy).not.toBe(thread);
    await expect.poll(() => shownTexts(tab)).toEqual(firstTexts);
    expect([await storedTexts(stage, copy), await storedTexts(stage, thread)]).toEqual([firstTexts, allTexts]);
  });

  it("says of a checkpoint that is not there that it was not found", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "first");
    await rests(tab);
    await tab.page.goto(`${stage.server.url}/console/t/${thread}?at=no-such-state`);
    await tab.page.getByText(en.state.gone, { exact: true }).waitFor();
    await button(words.now).click();
    await expect.poll(() => shownTexts(tab)).toEqual(firstTexts);
  });
});
