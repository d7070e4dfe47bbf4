import { wireText, type ModelRequest, type ModelStep } from "@millrace/testing/model-server";

/** The eight graph shapes of the kill test (reliability R3), and the graph that serves each. */
export const shapes = {
  single: "one",
  parallel: "one",
  subgraph: "nested",
  approval: "one",
  long: "one",
  streaming: "one",
  retrying: "retrying",
  plan: "agent",
} as const;
export type Shape = keyof typeof shapes;

/** Milliseconds that a run of the shape takes about: a kill falls inside. */
export const defaultTime: Record<Shape, number> = {
  single: 200,
  parallel: 220,
  subgraph: 260,
  approval: 150,
  long: 750,
  streaming: 500,
  retrying: 320,
  plan: 500,
};

/** The calls a run of the shape makes, in order; each inner list is one reply of the model. */
export function callsOf(shape: Shape, item: string): { name: string; item: string }[][] {
  const call = (name: string, suffix = ""): { name: string; item: string } => ({ name, item: item + suffix });
  switch (shape) {
    case "single":
      return [[call("send_once")]];
    case "parallel":
      return [[call("send_once", "-a"), call("set_again", "-b"), call("send_once", "-c")]];
    case "subgraph":
    case "retrying":
      return [[call("send_once")], [call("set_again")]];
    case "approval":
      return [[call("ask_first")]];
    case "long":
      return [[call("take_long")]];
    case "streaming":
    case "plan":
      return [];
  }
}

/** What a run says at its end. */
export function lastWords(shape: Shape, item: string): string {
  const words = `All done with ${item}.`;
  return shape === "streaming" ? `${"The mill wheel — 水車 — turns slowly on. ".repeat(8)}${words}` : words;
}

/** The files a run of the shape `plan` writes. */
export function plannedFiles(item: string): string[] {
  return [`${item}-1.md`, `${item}-2.md`];
}

/** Decided by the history alone, so that a repeated request gets the same answer. */
export function answer(request: ModelRequest): ModelStep {
  const asked = request.messages.flatMap((message) => {
    const found = message.role === "user" ? /^please do (\w+) (\w+)$/u.exec(wireText(message)) : null;
    return found === null ? [] : [{ shape: found[1] ?? "", item: found[2] ?? "" }];
  });
  const last = asked.at(-1);
  if (last === undefined || !isShape(last.shape)) return { text: "Nothing to do." };
  const { shape, item } = last;
  if (shape === "plan") return planAnswer(request, item);
  const since = request.messages.slice(request.messages.findLastIndex((message) => message.role === "user"));
  const replies = callsOf(shape, item);
  const next = replies[since.filter((message) => (message.tool_calls?.length ?? 0) > 0).length];
  if (next === undefined) return { text: lastWords(shape, item), delayMs: shape === "streaming" ? 4 : 2 };
  const toolCalls = next.map((call) => ({
    name: call.name,
    arguments: { item: call.item },
    id: `${call.item}-${call.name}`,
  }));
  return { toolCalls, delayMs: 5 };
}

/** Whether a text names a shape. */
export function isShape(text: string): text is Shape {
  return Object.keys(shapes).includes(text);
}

function planAnswer(request: ModelRequest, item: string): ModelStep {
  const files = plannedFiles(item);
  const begin = request.messages.findLastIndex((message) => message.role === "user");
  const round = request.messages.slice(begin).filter((message) => (message.tool_calls?.length ?? 0) > 0).length;
  if (round === 0) {
    const todos = files.map((path) => ({ content: `write ${path}`, status: "pending" }));
    return { toolCalls: [{ name: "write_todos", arguments: { todos }, id: `call-${item}` }], delayMs: 1 };
  }
  const path = files[round - 1];
  if (path === undefined) return { text: lastWords("plan", item), delayMs: 2 };
  return { toolCalls: [{ name: "create_file", arguments: { path, content: `of ${item}` }, id: `call-${path}` }] };
}
