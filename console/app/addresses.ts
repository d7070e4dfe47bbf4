/** The addresses of the console, below `/console`. Every place has one, so reload, share and back work everywhere. */
export const addresses = {
  home: "/",
  thread: "/t/:thread",
  inbox: "/inbox",
  run: "/t/:thread/run/:run",
  context: "/t/:thread/context",
  graph: "/g/:assistant",
  graphs: "/g",
  runs: "/runs",
} as const;

/** Where a thread is shown. */
export const threadAddress = (thread: string): string => `/t/${encodeURIComponent(thread)}`;
/** Where a run is inspected. */
export const runAddress = (thread: string, run: string): string =>
  `${threadAddress(thread)}/run/${encodeURIComponent(run)}`;
/** Where it is shown what the model of a thread was sent. */
export const contextAddress = (thread: string): string => `${threadAddress(thread)}/context`;
/** Where a graph or an assistant is shown. */
export const graphAddress = (assistant: string): string => `/g/${encodeURIComponent(assistant)}`;
/** What stands before every address of the console. */
export const base = "/console";
