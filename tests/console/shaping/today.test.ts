import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { hasToolkit } from "../../support/source-files.ts";
import { chromiumPath, leave, openStage, type Stage, type Tab } from "../console-page.ts";

const minute = 60_000;
/** Eight hours before UTC, so that the day of the person and the day of the server begin at different times. */
const timezoneId = "Asia/Shanghai";

let stage: Stage;
let tab: Tab;

/** Opens a place at a moment of the page's clock, which goes on from there. */
async function openAt(moment: string, path: string, part: string): Promise<Page> {
  const { page, context } = tab;
  const session = await context.newCDPSession(page);
  await session.send("Emulation.setTimezoneOverride", { timezoneId });
  await page.clock.install({ time: new Date(moment) });
  await page.goto(`${stage.server.url}/console${path}`);
  await page.locator(part).first().waitFor();
  return page;
}

describe.skipIf(chromiumPath === undefined)("a page that stays open over midnight", () => {
  beforeAll(async () => {
    stage = await openStage(() => ({ text: "Done." }));
  });
  afterAll(() => stage.close());
  beforeEach(async () => {
    tab = await stage.open();
  });
  afterEach(() => leave(tab));

  it.skipIf(!hasToolkit("planner"))("goes on to the next day of its tasks, where the person is", async () => {
    for (const day of ["2026-03-04", "2026-03-05"]) {
      await stage.server.send("POST", "/api/tasks", { title: `Of ${day}`, scheduled_date: day });
    }
    await stage.server.send("POST", "/api/tasks", { title: "Some day" });
    const page = await openAt("2026-03-04T23:58:00+08:00", "/tasks?view=day", ".task-row");
    const columns = page.locator(".task-columns");
    const ofDay = columns.locator("section[data-today]");
    await expect.poll(() => ofDay.innerText()).toContain("Of 2026-03-04");
    await page.clock.fastForward(3 * minute);
    await expect.poll(() => ofDay.innerText()).toContain("Of 2026-03-05");
    expect(await columns.locator("section").nth(1).innerText()).toContain("Of 2026-03-04");
    // The menu of a task that was shown before, and after, counts from the new day, too.
    await columns.getByRole("button", { name: "Move: Some day" }).click();
    await page.locator("[role^=menuitem]").first().click();
    await expect.poll(() => ofDay.innerText()).toContain("Some day");
  });

  it.skipIf(!hasToolkit("planner"))("looks at the clock when it is seen again", async () => {
    const page = await openAt("2026-03-04T12:00:00+08:00", "/tasks?view=day", ".task-row");
    const title = page.locator(".tasks .filters span").first();
    await expect.poll(() => title.innerText()).toContain("March 4");
    // Timers of a machine that sleeps stand still.
    await page.clock.setSystemTime(new Date("2026-03-06T09:00:00+08:00"));
    await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
    await expect.poll(() => title.innerText()).toContain("March 6");
  });

  it("goes on to the next day of the statistics, which the server counts by UTC", async () => {
    const page = await openAt("2026-03-04T23:58:00Z", "/statistics", ".statistics .filters");
    const to = page.getByLabel("Last day");
    expect(await to.inputValue()).toBe("2026-03-04");
    await page.clock.fastForward(3 * minute);
    await expect.poll(() => to.inputValue()).toBe("2026-03-05");
  });
});
