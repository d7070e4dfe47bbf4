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
  compare: "/compare",
  prompts: "/prompts/:name?",
  identities: "/identity/:name?",
  models: "/models/:name?",
  vendors: "/vendors/:name?",
  roles: "/roles",
  statistics: "/statistics",
  tasks: "/tasks",
  tools: "/tools/:name?",
  mcp: "/mcp/:name?",
  docs: "/docs",
  settings: "/settings",
  files: "/files",
  changes: "/changes",
  circuits: "/circuits",
  server: "/server",
  webSearch: "/web-search",
  store: "/store",
  memory: "/memory/:id?",
  crons: "/crons/:id?",
  agents: "/agents/:name?",
  rules: "/rules",
} as const;

/** Where a thread is shown. */
export const threadAddress = (thread: string): string => `/t/${encodeURIComponent(thread)}`;
/** Where a thread is shown as it was at a checkpoint, by default the newest. */
export const pastAddress = (thread: string, checkpoint = ""): string =>
  `${threadAddress(thread)}?at=${encodeURIComponent(checkpoint)}`;
/** Where a message of a thread is shown; `search` is what else the address asks for. */
export const messageAddress = (thread: string, message: string, search = ""): string =>
  `${withSearch(threadAddress(thread), search)}#${encodeURIComponent(message)}`;
const withSearch = (address: string, search: string): string => (search === "" ? address : `${address}?${search}`);
/** Where a run is inspected. */
export const runAddress = (thread: string, run: string): string =>
  `${threadAddress(thread)}/run/${encodeURIComponent(run)}`;
/** Where two runs are shown side by side; without one of them it is chosen there. */
export function compareAddress(left?: RunPlace, right?: RunPlace): string {
  const named = ({ threadId, runId }: RunPlace): string => `${threadId}/${runId}`;
  const asked = new URLSearchParams({ ...(left && { left: named(left) }), ...(right && { right: named(right) }) });
  return `/compare?${asked.toString()}`;
}
interface RunPlace {
  threadId: string;
  runId: string;
}
/** Where it is shown what the model of a thread was sent. */
export const contextAddress = (thread: string): string => `${threadAddress(thread)}/context`;
/** Where a graph or an assistant is shown. */
export const graphAddress = (assistant: string): string => `/g/${encodeURIComponent(assistant)}`;
/** Where the prompts are changed, or the identities of the profiles; one of them, or their list. */
export const promptAddress = (kind: "prompt" | "identity", name?: string): string =>
  listAddress(kind === "prompt" ? "/prompts" : "/identity", name);
const listAddress = (list: string, name: string | undefined): string =>
  name === undefined ? list : `${list}/${encodeURIComponent(name)}`;
/** Where models are shown, or one of them. */
export const modelAddress = (name?: string): string => listAddress("/models", name);
/** Where the vendors of models are shown, or one of them. */
export const vendorAddress = (name?: string): string => listAddress("/vendors", name);
/** Where it is shown how the calls of models went, or of one. */
export const statisticsAddress = (model?: string): string =>
  model === undefined ? "/statistics" : `/statistics?model=${encodeURIComponent(model)}`;
/** Where tools are shown, or one of them. */
export const toolAddress = (name?: string): string => listAddress("/tools", name);
/** Where MCP servers are shown, or one of them. */
export const mcpAddress = (name?: string): string => listAddress("/mcp", name);
/** Where the documentation of libraries is shown, or that of one. */
export const libraryAddress = (library?: string): string =>
  library === undefined ? "/docs" : `/docs?library=${encodeURIComponent(library)}`;
/** Where the files of the workspace are shown, or one of them; with marks for what a thread has changed. */
export function fileAddress(path?: string, thread?: string): string {
  if (path === undefined && thread === undefined) return "/files";
  const asked = { ...(thread !== undefined && { thread }), ...(path !== undefined && { path }) };
  return `/files?${new URLSearchParams(asked).toString()}`;
}
/** What is shown of a circuit. */
export type CircuitPart = "netlist" | "connections" | "waveforms";
/** Where the circuits of the workspace are shown, or a part of one of them. */
export function circuitAddress(name?: string, part: CircuitPart = "netlist"): string {
  if (name === undefined) return "/circuits";
  return `/circuits?${new URLSearchParams({ name, ...(part !== "netlist" && { part }) }).toString()}`;
}
/** Where it is shown who searches the web. */
export const webSearchAddress = "/web-search";
/** Where the store is shown, what lies below a namespace, or one item. */
export function storeAddress(namespace?: readonly string[], key?: string): string {
  if (namespace === undefined) return "/store";
  const asked = new URLSearchParams({ in: namespace.join("."), ...(key !== undefined && { key }) });
  return `/store?${asked.toString()}`;
}
/** Where it is shown what is known of the user, or one memory of it. */
export const memoryAddress = (id?: string): string => listAddress("/memory", id);
/** Where schedules are shown, or one of them. */
export const cronAddress = (id?: string): string => listAddress("/crons", id);
/** Where a task is shown. */
export const taskAddress = (task: string): string => `/tasks?task=${encodeURIComponent(task)}`;
/** Where agents are shown, or one of them. */
export const agentAddress = (name?: string): string => listAddress("/agents", name);
/** Where rules are shown, or that of a file. */
export const ruleAddress = (path?: string): string =>
  path === undefined ? "/rules" : `/rules?path=${encodeURIComponent(path)}`;
/** Where a thread of a list is shown: at the message in which something was looked for and found. */
export function foundAddress(
  { thread_id, hits }: { thread_id: string; hits?: readonly { message_id?: string | null | undefined }[] | undefined },
  search = "",
): string {
  const message = hits?.[0]?.message_id;
  return message ? messageAddress(thread_id, message, search) : withSearch(threadAddress(thread_id), search);
}
/** A part of an address as it was written there; what was never encoded is taken as it is. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
/** What stands before every address of the console. */
export const base = "/console";

/** The query of an address with some parameters changed; one that is `undefined` goes. */
export function withParams(params: URLSearchParams, changes: Record<string, string | undefined>): URLSearchParams {
  const next = new URLSearchParams(params);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) next.delete(name);
    else next.set(name, value);
  }
  return next;
}
