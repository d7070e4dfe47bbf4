import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileAddress, modelAddress } from "../../../console/app/addresses.ts";
import { chromiumPath, leave, openStage, type Stage, type Tab } from "../console-page.ts";

/** Names with signs that mean something in addresses. */
const names = ["100%", "a%20b.txt", "a b.txt", "a/b", "a%2Fb", "ü", "%zz", "a+b", "a&b=c?d#e"];

let stage: Stage;
let tab: Tab;
/** The paths that the page has asked the server for. */
const asked: string[] = [];
const go = (address: string): Promise<unknown> =>
  tab.page.evaluate(`history.pushState(null, "", ${JSON.stringify(`/console${address}`)})`);

describe.skipIf(chromiumPath === undefined)("a name with signs of addresses in it", () => {
  beforeAll(async () => {
    stage = await openStage(() => ({ text: "Done." }));
    for (const name of names) {
      const file = join(stage.server.config.workspace, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, `This is ${name}.\n`);
    }
    tab = await stage.open({ path: "/files" });
    tab.page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  });
  afterAll(async () => {
    await leave(tab);
    await stage.close();
  });

  it.each(names)("is in the query of an address what it is: %j", async (name) => {
    await go(fileAddress(name));
    await expect.poll(() => tab.page.locator(".shaping-one").innerText()).toContain(`This is ${name}.`);
  });

  it.each(names)("is in the path of an address what it is: %j", async (name) => {
    await go(modelAddress(name));
    await expect.poll(() => asked).toContain(`/models/${encodeURIComponent(name)}`);
  });

  it("is taken as it is written where the address of a chat cannot be decoded", async () => {
    await go("/t/%zz");
    await expect.poll(() => asked).toContain("/threads/%zz/messages");
  });
});
