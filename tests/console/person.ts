import type { Locator } from "playwright-core";
import { vi } from "vitest";
import { en } from "../../console/text/en.ts";
import { manageEn } from "../../console/text/manage/en.ts";
import { manageZh } from "../../console/text/manage/zh.ts";
import { workEn } from "../../console/text/inspector/en.ts";
import { workZh } from "../../console/text/inspector/zh.ts";
import { zh } from "../../console/text/zh.ts";
import { axeFindings, type Stage, type Tab } from "./console-page.ts";

/** The colours of the console. */
export type Theme = "light" | "dark";

/** How a person uses the console: with what, on which screen, in which language. */
export interface Hand {
  how: "mouse" | "keys";
  width: number;
  locale: "en" | "zh-CN";
}

/** Tabs after which a control counts as not to be reached. */
const maxTabs = 120;

/** What the element that has the focus is called. */
const focusedName = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return "";
  const label = element.labels?.[0]?.textContent;
  return (element.getAttribute("aria-label") ?? label ?? element.textContent ?? "").trim();
})()`;

/** Waits until nothing moves any more that comes to an end: half faded, a text has half its contrast. */
const still = `Promise.allSettled(document.getAnimations()
  .filter(({ effect }) => effect?.getComputedTiming().iterations !== Infinity)
  .map(({ finished }) => finished))`;

/**
 * What axe judges of a page: its elements and what they are, without the words, the names and the places of this time, and of
 * rows that are alike one after the other only the first.
 */
const structure = String.raw`document.documentElement.outerHTML
  .replaceAll(/>[^<]*[^<\s][^<]*</gu, ">x<")
  .replaceAll(/ (?:lang|id|for|href|value|style|title|datetime|aria-(?:labelledby|controls|describedby|activedescendant))="[^"]*"/gu, "")
  .replaceAll(/ (aria-label|placeholder)="[^"]+"/gu, ' $1="x"')
  .replaceAll(/(<li\b(?:(?!<li\b)[^])*?<\/li>)(?:\s*\1)+/gu, "$1")`;
/** The usual sample shows each structure to axe once, on whichever screen and in whichever theme it comes first. */
const isSample = process.env["LOOKS"] !== "8";
/** The structures that axe has seen, on each screen and in each theme. */
const seenByAxe = new Set<string>();

/** A person in front of a page, who has either a mouse or a keyboard. */
export class Person {
  readonly tab: Tab;
  /** What axe found wrong with the page after a step, each with the step. */
  readonly findings: string[] = [];
  readonly words: {
    all: typeof en | typeof zh;
    work: typeof workEn | typeof workZh;
    manage: typeof manageEn | typeof manageZh;
  };
  readonly #isMouse: boolean;
  readonly #screen: string;
  #theme: Theme = "light";

  private constructor(tab: Tab, { how, width, locale }: Hand) {
    this.tab = tab;
    this.#screen = `${width} ${locale}`;
    this.#isMouse = how === "mouse";
    this.words =
      locale === "en" ? { all: en, work: workEn, manage: manageEn } : { all: zh, work: workZh, manage: manageZh };
  }

  /** Opens the console. */
  static async at(stage: Stage, hand: Hand, path = "/"): Promise<Person> {
    const tab = await stage.open({
      path,
      width: hand.width,
      height: hand.width < 800 ? 844 : 800,
      locale: hand.locale,
    });
    return new Person(tab, hand);
  }

  /** Sees the console in these colours from now on, as by the setting of the system. */
  async see(theme: Theme): Promise<void> {
    await this.tab.page.emulateMedia({ colorScheme: theme });
    this.#theme = theme;
  }

  /** Goes to another place, as by a link from elsewhere. */
  async go(path: string): Promise<void> {
    await this.tab.page.evaluate(`history.pushState(null, "", "/console${path}")`);
  }

  /** Presses a button, or follows a link; `last`: of several that are called so, the last one. */
  async use(name: string | RegExp, last = false): Promise<void> {
    const { page } = this.tab;
    const begins = typeof name === "string" ? new RegExp(`^${RegExp.escape(name)}`, "u") : name;
    const found = page
      .getByRole("button", { name: begins, disabled: false })
      .or(page.getByRole("link", { name: begins }));
    await found.first().waitFor();
    if (this.#isMouse) await (last ? found.last() : found.first()).click();
    else {
      await this.#tabTo(begins, last);
      await page.keyboard.press("Enter");
    }
    await this.#look(`use ${String(name)}`);
  }

  /** Approves what waits on such cards until none is left. A card that has just appeared takes no answer. */
  async approveAll(card: string): Promise<void> {
    const { approve } = this.words.all.approval;
    const cards = this.tab.page.locator(card);
    const button = cards.getByRole("button", { name: approve, disabled: false });
    const left = async (): Promise<number> => {
      // A button that has gone meanwhile is waited for in vain.
      if ((await button.count()) > 0) await this.use(approve).catch(() => undefined);
      return cards.count();
    };
    await vi.waitUntil(async () => (await left()) === 0, { timeout: 40_000 });
  }

  /** Chooses something of a menu. */
  async choose(menu: string, entry: string, last = false): Promise<void> {
    const { page } = this.tab;
    await this.use(menu, last);
    const item = page.getByRole("menuitem", { name: entry });
    await item.waitFor();
    if (this.#isMouse) await item.click();
    else {
      const text = await item.textContent();
      for (let steps = 0; steps < 20; steps += 1) {
        const active = page.locator("[role=menuitem][data-active-item]");
        if ((await active.count()) > 0 && (await active.textContent()) === text) break;
        await page.keyboard.press("ArrowDown");
      }
      await page.keyboard.press("Enter");
    }
    await this.#look(`choose ${entry}`);
  }

  /** Writes into a field, in place of what stands there. */
  async write(label: string, text: string): Promise<void> {
    const { page } = this.tab;
    const begins = new RegExp(`^${RegExp.escape(label)}`, "u");
    const field = page.getByRole("textbox", { name: begins }).or(page.getByLabel(begins)).last();
    await this.#type(field, (name) => begins.test(name), text);
    await this.#look(`write into ${label}`);
  }

  /** Says something in the chat that is open, or in a new one. */
  async say(text: string): Promise<void> {
    const { page } = this.tab;
    // It is called by what the chat waits for, which may change meanwhile.
    const field = page.locator(".composer-field");
    const isField = async (): Promise<boolean> => (await page.locator(".composer-field:focus").count()) > 0;
    await this.#type(field, isField, text);
    await this.#look(`write ${text}`);
    if (this.#isMouse) await page.locator(".send-button").click();
    else await page.keyboard.press("Enter");
    await this.#look(`say ${text}`);
  }

  async #type(field: Locator, isField: (focused: string) => boolean | Promise<boolean>, text: string): Promise<void> {
    const { keyboard } = this.tab.page;
    await field.waitFor();
    if (this.#isMouse) await field.click();
    else if (!(await isField(await this.#focused()))) await this.#tabTo(String(field), false, isField);
    await keyboard.press("ControlOrMeta+a");
    await keyboard.type(text);
  }

  /** Says something in a new chat; gives the chat's id. */
  async begin(text: string): Promise<string> {
    await this.go("/");
    await this.tab.page.locator(".home").waitFor();
    await this.say(text);
    await this.tab.page.waitForURL(/\/console\/t\//u);
    // The address comes before the page, which is what says whether a run works.
    await this.tab.page.locator(".conversation").waitFor();
    return new URL(this.tab.page.url()).pathname.split("/").at(-1) ?? "";
  }

  /** Chooses a tab of a page, or a row of a tree. */
  async pick(role: "tab" | "treeitem", name: string | RegExp): Promise<void> {
    const { page } = this.tab;
    const wanted = page.getByRole(role, { name }).first();
    await wanted.waitFor();
    if (this.#isMouse) {
      await wanted.click();
      await this.#look(`pick ${String(name)}`);
      return;
    }
    const list = role === "tab" ? page.getByRole("tab", { selected: true }) : page.getByRole("tree");
    const label = (await list.getAttribute("aria-label")) ?? (await list.textContent()) ?? "";
    if ((await this.#focused()) !== label) await this.#tabTo(label, false);
    const key = role === "tab" ? "ArrowRight" : "ArrowDown";
    await vi.waitFor(
      async () => {
        if ((await wanted.getAttribute("aria-selected")) === "true") return;
        await page.keyboard.press(key);
        throw new Error(`${String(name)} is not chosen.`);
      },
      { timeout: 20_000, interval: 100 },
    );
    await this.#look(`pick ${String(name)}`);
  }

  /** What axe judges of the page as it is now, with how it is seen. */
  async #structure(): Promise<string> {
    const seen = isSample ? "" : `${this.#screen} ${this.#theme}`;
    return `${seen} ${String(await this.tab.page.evaluate(structure))}`;
  }

  /** Looks at what a step has made of the page. */
  async #look(step: string): Promise<void> {
    try {
      // While a page is loaded there is none yet.
      await this.tab.page.locator("h1").first().waitFor({ state: "attached" });
      await this.tab.page.evaluate(still);
      const page = await this.#structure();
      if (seenByAxe.has(page)) return;
      seenByAxe.add(page);
      const found = await axeFindings(this.tab);
      // What came in the midst of the look, such as a note that fades in, is looked at when it is still.
      if (found.length > 0 && (await this.#structure()) !== page) return await this.#look(step);
      this.findings.push(...found.map((finding) => `${step}, ${this.#theme}: ${finding}`));
    } catch (error) {
      // The step has loaded the page anew.
      if (!String(error).includes("context was destroyed")) throw error;
      await this.tab.page.waitForLoadState();
      await this.#look(step);
    }
  }

  async #focused(): Promise<string> {
    return String(await this.tab.page.evaluate(focusedName));
  }

  async #tabTo(
    name: string | RegExp,
    backwards: boolean,
    isIt: (focused: string) => boolean | Promise<boolean> = (label) =>
      typeof name === "string" ? label === name : name.test(label),
  ): Promise<void> {
    const seen: string[] = [];
    for (let count = 0; count < maxTabs; count += 1) {
      await this.tab.page.keyboard.press(backwards ? "Shift+Tab" : "Tab");
      const label = await this.#focused();
      if (await isIt(label)) return;
      seen.push(label);
    }
    throw new Error(`No focus came to ${String(name)}: ${seen.join(" | ").slice(0, 2_000)}`);
  }
}
