import { createElement } from "react";
import { createRoot } from "react-dom/client";
import { createPage, type HookName, type PageStorage, type Screen } from "./stream-hooks.ts";

/** As much of the browser as the page uses; the program's own types are node's. */
interface Browser {
  location: { search: string };
  history: { replaceState(state: null, title: string, url: string): void };
  sessionStorage: PageStorage;
  document: { getElementById(id: string): unknown };
  shown: Screen[];
}

// What runs here runs in a browser.
const browser = globalThis as unknown as Browser;
const parameters = new URLSearchParams(browser.location.search);
browser.shown = [];
const options = {
  apiUrl: parameters.get("api") ?? "",
  assistantId: parameters.get("assistant") ?? "",
  threadId: parameters.get("thread"),
  onThreadId(threadId: string): void {
    parameters.set("thread", threadId);
    browser.history.replaceState(null, "", `?${parameters.toString()}`);
  },
  storage: () => browser.sessionStorage,
};
// The test that opens the page names one of the hooks.
const hook = parameters.get("hook") as HookName;
const page = createPage(hook, options, (screen) => browser.shown.push(screen));
createRoot(browser.document.getElementById("root")).render(createElement(page));
