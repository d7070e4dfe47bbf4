import { createElement } from "react";
import { createRoot } from "react-dom/client";
import type { ChatPage } from "./chat-page.ts";
import { createPage, type HookName, type PageStorage, type Screen } from "./stream-hooks.ts";

const emptyDocument = Object.assign(new EventTarget(), {
  nodeType: 9,
  defaultView: { HTMLIFrameElement: class {}, getSelection: () => null, document: { activeElement: null, body: null } },
  activeElement: null,
});

/** React looks at the element it is in also where a component shows nothing; this is as much of one as it looks at. */
class EmptyElement extends EventTarget {
  readonly nodeType = 1;
  readonly nodeName = "DIV";
  readonly tagName = "DIV";
  readonly ownerDocument = emptyDocument;
  readonly namespaceURI = "http://www.w3.org/1999/xhtml";
  textContent = "";
}

/** A page with one of the hooks and no browser; React asks the global `window` which event is at work. */
export function openHeadlessPage(hook: HookName, apiUrl: string, assistantId: string): ChatPage {
  Object.assign(globalThis, { window: { event: undefined, HTMLIFrameElement: class {} } });
  const stored = new Map<string, string>();
  const storage: PageStorage = {
    getItem: (key) => stored.get(key) ?? null,
    setItem: (key, value) => void stored.set(key, value),
    removeItem: (key) => void stored.delete(key),
  };
  let threadId: string | null = null;
  let shown: Screen[] = [];
  const open = () => {
    const root = createRoot(new EmptyElement());
    const onThreadId = (id: string): void => {
      threadId = id;
    };
    const options = { apiUrl, assistantId, threadId, onThreadId, storage: () => storage };
    root.render(createElement(createPage(hook, options, (screen) => shown.push(screen))));
    return root;
  };
  let root = open();
  return {
    threadId: () => threadId ?? "",
    shown: async () => shown,
    act: async (action, ...values) => shown.at(-1)?.[action](...values),
    async reload() {
      root.unmount();
      shown = [];
      root = open();
    },
    close: async () => root.unmount(),
  };
}
