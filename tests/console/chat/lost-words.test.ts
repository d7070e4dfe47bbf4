import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import {
  begin,
  chromiumPath,
  leave,
  openStage,
  rests,
  say,
  sees,
  shownTexts,
  storedTexts,
  type Stage,
  type Tab,
} from "../console-page.ts";

let held = Promise.withResolvers<void>();
let asked = 0;

/** Stops in the middle; asked again, it stops one word further. */
function answer(_request: ModelRequest): ModelStep {
  asked += 1;
  const chunks = ["Half ", "an ", "answer ", "is ", "none."];
  return { chunks, text: chunks.join(""), hold: { after: asked + 1, until: held.promise } };
}

describe.skipIf(chromiumPath === undefined)("words of an attempt that was lost", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openStage(answer);
  });
  afterAll(async () => {
    held.resolve();
    await stage.close();
  });

  it("are not shown by a page that is loaded after it", async () => {
    held = Promise.withResolvers();
    const tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "Half an");
    await stage.restart();
    await expect.poll(() => shownTexts(tab), { timeout: 30_000 }).toEqual(["hello", "Half an answer"]);
    // Of what was, a page that is new gets the words of the lost attempt first, and the rest only then.
    const passed = Promise.withResolvers<void>();
    const rest = Promise.withResolvers<void>();
    await page.routeWebSocket(`**/threads/${thread}/stream/events`, (socket) => {
      const server = socket.connectToServer();
      let last = Promise.resolve();
      let isFirst = true;
      server.onMessage((message) => {
        last = last.then(async () => {
          socket.send(message);
          if (!isFirst || !String(message).includes('"an "')) return;
          isFirst = false;
          passed.resolve();
          await rest.promise;
        });
      });
    });
    await page.reload();
    await sees(tab, "hello");
    await passed.promise;
    await page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))");
    expect(await shownTexts(tab)).toEqual(["hello"]);
    rest.resolve();
    await expect.poll(() => shownTexts(tab)).toEqual(["hello", "Half an answer"]);
    held.resolve();
    await rests(tab);
    expect(await shownTexts(tab)).toEqual(["hello", "Half an answer is none."]);
    expect(tab.problems).toEqual([]);
    await tab.release();
  });
});

/** The next answer to a command is cut off behind its headers. */
const cutAnswer = `{
  const real = window.fetch;
  window.fetch = async (...asked) => {
    const answer = await real(...asked);
    if (!String(asked[0]).endsWith("/commands")) return answer;
    window.fetch = real;
    await answer.text();
    return new Response(new ReadableStream({ start: (body) => body.error(new TypeError("network error")) }));
  };
}`;
const keptUnsent = "Object.keys(localStorage).filter((key) => key.includes('unsent'))";

describe.skipIf(chromiumPath === undefined)("words that the user types", () => {
  let stage: Stage;
  let tab: Tab;
  beforeAll(async () => {
    stage = await openStage(({ messages }) => ({
      text: `You said: ${String(messages.findLast(({ role }) => role === "user")?.content)}`,
    }));
  });
  afterAll(() => stage.close());
  afterEach(() => leave(tab));

  const field = (page = tab.page): Locator => page.locator(".composer-field");
  const attach = async (page: Page, name: string): Promise<void> => {
    await page.getByRole("button", { name: "Attach a file" }).click();
    const file = { name, mimeType: "text/plain", buffer: Buffer.from("a") };
    await page.locator(".composer input[type=file]").setInputFiles(file);
  };
  /** Goes to another place without a load of the page. */
  const go = async (path: string): Promise<void> => {
    await tab.page.evaluate(`history.pushState(null, "", "/console${path}")`);
  };

  it("are in the field again where they are refused once another chat is open", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    const refused = Promise.withResolvers<void>();
    await page.route("**/commands", async (route) => {
      await refused.promise;
      await route.fulfill({ json: { type: "error", error: "unknown_error", message: "Too much at once." } });
    });
    await say(tab, "to be kept");
    await go("/");
    await page.locator(".home").waitFor();
    refused.resolve();
    await page.locator(".toast-error").getByText("Too much at once.").waitFor();
    await go(`/t/${thread}`);
    await expect.poll(() => field().inputValue()).toBe("to be kept");
  });

  it("are the same in two tabs, and said once", async () => {
    tab = await stage.open();
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    const other = await stage.open({ beside: tab, path: `/t/${thread}` });
    await field(other.page).waitFor();
    await field().fill("one");
    await expect.poll(() => field(other.page).inputValue()).toBe("one");
    await field(other.page).press("End");
    await field(other.page).pressSequentially(" two");
    await expect.poll(() => field().inputValue()).toBe("one two");
    await field(other.page).press("Enter");
    await sees(tab, "You said: one two");
    expect(await field().inputValue()).toBe("");
    expect(other.problems).toEqual([]);
  });

  it("have the file that was uploaded while another chat was open", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    const there = Promise.withResolvers<void>();
    await page.route("**/files/uploads*", async (route) => {
      await there.promise;
      await route.continue();
    });
    const uploaded = page.waitForResponse("**/files/uploads*");
    await attach(page, "late.txt");
    await go("/");
    await page.locator(".home").waitFor();
    there.resolve();
    await uploaded;
    await go(`/t/${thread}`);
    await expect
      .poll(() => page.locator(".composer .attachment").allInnerTexts())
      .toEqual([expect.stringContaining("late.txt")]);
  });

  it("are sent again where the browser keeps nothing", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await page.evaluate(`Storage.prototype.setItem = () => { throw new DOMException("full", "QuotaExceededError"); }`);
    await page.route("**/commands", (route) => route.abort(), { times: 1 });
    await say(tab, "again");
    await sees(tab, "You said: again");
    expect(await storedTexts(stage, thread)).toEqual(["hello", "You said: hello", "again", "You said: again"]);
    // The page works as usual again, for the next test.
    await page.reload();
  });

  it.each(["is cut", "is a proxy's"])("are said once where the answer of the server %s", async (how) => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    const commands = "**/commands";
    if (how === "is cut") await page.evaluate(cutAnswer);
    else {
      await page.route(
        commands,
        async (route) => {
          await route.fetch();
          await route.fulfill({ status: 503, contentType: "text/plain", body: "upstream connect error" });
        },
        { times: 1 },
      );
    }
    await say(tab, "once");
    await sees(tab, "You said: once");
    await rests(tab);
    await expect.poll(() => page.evaluate(keptUnsent)).toEqual([]);
    expect(await field().inputValue()).toBe("");
    expect(await storedTexts(stage, thread)).toEqual(["hello", "You said: hello", "once", "You said: once"]);
  });

  it.each(["has", "does not have"])(
    "begin one chat where the page is loaded anew and the server %s them",
    async (what) => {
      tab = await stage.open();
      const { page } = tab;
      await page.route(
        "**/commands",
        async (route) => {
          if (what === "has") await route.fetch();
          void page.reload();
        },
        { times: 1 },
      );
      await say(tab, "the first words");
      await sees(tab, "You said: the first words");
      await rests(tab);
      expect(await shownTexts(tab)).toEqual(["the first words", "You said: the first words"]);
      await go("/");
      await page.locator(".home").waitFor();
      expect(await field().inputValue()).toBe("");
    },
  );

  it("keep the files that come while the first ones are on their way, and no others", async () => {
    tab = await stage.open();
    const { page } = tab;
    const passed = Promise.withResolvers<void>();
    await page.route("**/commands", async (route) => {
      await passed.promise;
      await route.continue();
    });
    const attachments = page.locator(".composer .attachment");
    await attach(page, "with.txt");
    await attachments.waitFor();
    const asked = page.waitForRequest("**/commands");
    await say(tab, "the first words");
    await asked;
    expect.soft(await field().isEditable()).toBe(false);
    await attach(page, "beside.txt");
    await attachments.filter({ hasText: "beside.txt" }).waitFor();
    passed.resolve();
    await sees(tab, "You said: the first words");
    await go("/");
    await page.locator(".home").waitFor();
    await expect.poll(() => attachments.allInnerTexts()).toEqual([expect.stringContaining("beside.txt")]);
  });

  it("and the files with them are in the field of a new chat where theirs is gone", async () => {
    tab = await stage.open();
    const { page } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await page.route("**/commands", (route) => route.abort());
    await say(tab, "not sent");
    await page.locator(".user-message[data-state=failed]").waitFor();
    await attach(page, "kept.txt");
    await page.locator(".composer .attachment").waitFor();
    await field().fill("not said");
    await stage.server.client.threads.delete(thread);
    await page.reload();
    await page.getByRole("button", { name: "Start a new chat" }).click();
    await page.locator(".home").waitFor();
    await expect
      .poll(async () => (await field().inputValue()).split("\n").toSorted())
      .toEqual(["not said", "not sent"]);
    await page.locator(".composer .attachment").filter({ hasText: "kept.txt" }).waitFor();
  });

  it("are back once where they are refused in two tabs", async () => {
    tab = await stage.open();
    const { page, context } = tab;
    const thread = await begin(tab, "hello");
    await sees(tab, "You said: hello");
    await context.route("**/commands", (route) => route.abort());
    await say(tab, "not sent");
    const failed = (of: Page): Locator => of.locator(".user-message[data-state=failed]");
    await failed(page).waitFor();
    const other = await stage.open({ beside: tab, path: `/t/${thread}` });
    await failed(other.page).waitFor();
    await context.route("**/commands", (route) =>
      route.fulfill({ json: { type: "error", error: "unknown_error", message: "Too much at once." } }),
    );
    for (const one of [page, other.page]) {
      await failed(one).waitFor({ state: "detached" });
      await expect.poll(() => field(one).inputValue()).toBe("not sent");
    }
    expect(other.problems).toEqual([]);
  });

  it("are pasted as such where a picture of them comes with them", async () => {
    tab = await stage.open();
    await field().waitFor();
    const pasted = await tab.page.evaluate(`(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add("two cells", "text/plain");
      clipboardData.items.add("<table></table>", "text/html");
      clipboardData.items.add(new File(["x"], "image.png", { type: "image/png" }));
      return document.querySelector(".composer-field").dispatchEvent(
        new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    })()`);
    expect(pasted).toBe(true);
  });
});
