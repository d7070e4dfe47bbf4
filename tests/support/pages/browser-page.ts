import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { chromium, type Browser } from "playwright-core";
import { rolldown } from "rolldown";
import type { ChatPage, Shown } from "./chat-page.ts";
import type { HookName } from "./stream-hooks.ts";

const places = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** Where a Chromium is installed on this machine, if one is. */
export function findChromium(): string | undefined {
  return places.find((place) => existsSync(place));
}

/**
 * What a browser with a window would do beside the page: the list below its field of addresses is a page of its own, loaded for
 * each window. The others are those that Playwright turns off, whose list this one replaces.
 */
const unneeded = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  "PreloadTopChromeWebUI",
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
];

let shared: Promise<Browser> | undefined;

/**
 * The browser of all tests of this process, which ends with it: to start one takes some seconds of CPU. Each test has contexts of
 * its own, and closes them.
 */
export async function sharedChromium(executablePath: string): Promise<Browser> {
  const former = await shared?.catch(() => undefined);
  if (former?.isConnected()) return former;
  shared = launchChromium(executablePath);
  return shared;
}

/** Starts a Chromium for tests. */
export function launchChromium(executablePath: string): Promise<Browser> {
  const args = ["--no-sandbox", `--disable-features=${unneeded.join(",")}`];
  return chromium.launch({ executablePath, args });
}

/** Serves the page that uses the hooks. */
export interface PageServer {
  /** Its origin, without a slash at the end. */
  url: string;
  close(): Promise<void>;
}

/** Bundles the page and serves it on loopback. Throws where it cannot be bundled. */
export async function startPageServer(): Promise<PageServer> {
  const script = await bundle();
  const html =
    '<!doctype html><meta charset="utf-8"><div id="root"></div><script type="module" src="/page.js"></script>';
  const server = createServer((request, response) => {
    const isScript = request.url === "/page.js";
    response.setHeader("content-type", isScript ? "text/javascript" : "text/html");
    response.end(isScript ? script : html);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an address with one.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function bundle(): Promise<string> {
  const input = fileURLToPath(new URL("page-entry.ts", import.meta.url));
  const build = await rolldown({
    input,
    platform: "browser",
    // Its paths lead to the types of react, which the page needs itself.
    tsconfig: false,
    logLevel: "silent",
    transform: { define: { "process.env.NODE_ENV": '"production"' } },
  });
  try {
    const { output } = await build.generate({ format: "esm", codeSplitting: false });
    return output[0].code;
  } finally {
    await build.close();
  }
}

/** What the page keeps for the test; see `page-entry.ts`. */
interface PageWindow {
  shown: (Shown & Record<"send" | "approve" | "stop", (value?: string) => void>)[];
  location: { search: string };
}

/** A page with one of the hooks in a browser of its own. */
export async function openBrowserPage(
  pages: PageServer,
  executablePath: string,
  hook: HookName,
  apiUrl: string,
  assistantId: string,
): Promise<ChatPage> {
  const browser = await sharedChromium(executablePath);
  const context = await browser.newContext();
  const page = await context.newPage();
  const query = new URLSearchParams({ hook, api: apiUrl, assistant: assistantId });
  await page.goto(`${pages.url}/?${query.toString()}`);
  return {
    threadId: () => new URL(page.url()).searchParams.get("thread") ?? "",
    shown: () =>
      page.evaluate(() => {
        const { shown } = globalThis as unknown as PageWindow;
        return shown.map(({ messages, isLoading, question, error }) => ({ messages, isLoading, question, error }));
      }),
    act: (action, ...values) =>
      page.evaluate(
        ([name, value]) => {
          const { shown } = globalThis as unknown as PageWindow;
          shown.at(-1)?.[name](value);
        },
        [action, values[0]] as const,
      ),
    reload: async () => {
      await page.reload();
    },
    close: () => context.close(),
  };
}
