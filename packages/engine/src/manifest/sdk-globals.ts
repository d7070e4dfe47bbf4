import type { Logger } from "../logger.ts";

/** Where the SDK's `getLogger()` and `new Client()` look for the server they run in. */
const loggerSymbol = Symbol.for("langgraph.api.sdk-logger");
const fetchSymbol = Symbol.for("langgraph_api:fetch");
const urlSymbol = Symbol.for("langgraph_api:url");

/** The levels of the SDK's logger, which are npm's, by ours. */
const levels = {
  error: "error",
  warn: "warn",
  help: "info",
  data: "info",
  info: "info",
  debug: "debug",
  prompt: "info",
  http: "info",
  verbose: "debug",
  input: "debug",
  silly: "trace",
} as const;

// The symbols are the SDK's; nothing types them.
const globals = globalThis as unknown as Record<symbol, unknown>;

let current: Logger | undefined;

/** Gives user code that asks the SDK for a logger the server's own. Before any user module is loaded: some ask at once. */
export function bindSdkLogger(logger: Logger): void {
  current = logger;
  // A module keeps what it was given once, also when a server of the same process has another logger later.
  if (loggerSymbol in globals) return;
  const adapter: Record<string, (message: unknown, ...meta: unknown[]) => unknown> = {};
  for (const [name, level] of Object.entries(levels)) {
    adapter[name] = (message, ...meta) => {
      const fields = Object.assign({}, ...meta.filter((one) => typeof one === "object"));
      if (typeof message === "object" && message !== null) current?.[level]({ ...message, ...fields }, "user_code");
      else current?.[level](fields, String(message));
      return adapter;
    };
  }
  globals[loggerSymbol] = adapter;
}

/**
 * Lets a `Client` without an address talk to this server, from graphs and from routes of `http.app`. It comes in like
 * any other client, so keys are asked of it too. Answers with what takes it back.
 */
export function bindSdkClient(url: string): () => void {
  const ownFetch = (path: string | URL, init?: RequestInit): Promise<Response> => fetch(new URL(path, url), init);
  globals[fetchSymbol] = ownFetch;
  globals[urlSymbol] = url;
  return () => {
    if (globals[fetchSymbol] !== ownFetch) return;
    delete globals[fetchSymbol];
    delete globals[urlSymbol];
  };
}
