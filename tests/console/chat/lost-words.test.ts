import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { begin, chromiumPath, openStage, rests, sees, shownTexts, type Stage } from "../console-page.ts";

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
