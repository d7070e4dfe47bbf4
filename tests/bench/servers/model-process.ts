import { setTimeout as delay } from "node:timers/promises";
import { startModelServer, wireText, type ModelRequest, type ModelStep } from "../../support/testing.ts";

type ToolCall = NonNullable<ModelStep["toolCalls"]>[number];

/** Words of an answer; a request that says `words:N` gets N, one that says `wait:N` gets them N ms later, and `pace:N` one in N ms. */
const defaultWords = 20;
const toolRounds = 5;
/** Calls of which none repeats another: three that read, and two that write. */
const different: readonly ToolCall[] = [
  ...[1, 2, 3].map((limit) => ({ name: "read_file", arguments: { path: "notes.md", limit } })),
  ...[1, 2].map((part) => ({ name: "write_file", arguments: { path: `part-${part}.md`, content: `Part ${part}.\n` } })),
];
const server = await startModelServer({ handler: answer, record: false });

/** Five rounds of one tool call when tools are offered, then an answer; without tools the answer at once. */
async function answer(request: ModelRequest): Promise<ModelStep> {
  const lastHuman = request.messages.findLastIndex((message) => message.role === "user");
  const asked = request.messages[lastHuman];
  const text = asked === undefined ? "" : wireText(asked);
  const rounds = request.messages.slice(lastHuman + 1).filter((message) => message.role === "tool").length;
  const toolCall = text.includes("different calls") ? different[rounds] : toolCallFor(request.toolNames);
  if (toolCall !== undefined && rounds < toolRounds) return { toolCalls: [toolCall] };
  const words = Number(/\bwords:(\d+)/.exec(text)?.[1] ?? defaultWords);
  const wait = Number(/\bwait:(\d+)/.exec(text)?.[1] ?? 0);
  const delayMs = Number(/\bpace:(\d+)/.exec(text)?.[1] ?? 0);
  if (wait > 0) await delay(wait);
  return { text: Array.from({ length: words }, (_, index) => `word${index}`).join(" "), delayMs };
}

function toolCallFor(names: string[]): ToolCall | undefined {
  if (names.includes("lookup")) return { name: "lookup", arguments: { key: "answer" } };
  if (names.includes("read_file")) return { name: "read_file", arguments: { path: "notes.md" } };
  return undefined;
}

process.send?.(server.url);
process.once("disconnect", () => void server.close());
