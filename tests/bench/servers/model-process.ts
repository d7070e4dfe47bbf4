import { setTimeout as delay } from "node:timers/promises";
import { startModelServer, wireText, type ModelRequest, type ModelStep } from "../../support/testing.ts";

/** Words of an answer; a request that says `words:N` gets N, and one that says `wait:N` gets them N ms later. */
const defaultWords = 20;
const toolRounds = 5;
const server = await startModelServer({ handler: answer, record: false });

/** Five rounds of one tool call when tools are offered, then an answer; without tools the answer at once. */
async function answer(request: ModelRequest): Promise<ModelStep> {
  const lastHuman = request.messages.findLastIndex((message) => message.role === "user");
  const rounds = request.messages.slice(lastHuman + 1).filter((message) => message.role === "tool").length;
  const toolCall = toolCallFor(request.toolNames);
  if (toolCall !== undefined && rounds < toolRounds) return { toolCalls: [toolCall] };
  const asked = request.messages[lastHuman];
  const text = asked === undefined ? "" : wireText(asked);
  const words = Number(/\bwords:(\d+)/.exec(text)?.[1] ?? defaultWords);
  const wait = Number(/\bwait:(\d+)/.exec(text)?.[1] ?? 0);
  if (wait > 0) await delay(wait);
  return { text: Array.from({ length: words }, (_, index) => `word${index}`).join(" ") };
}

function toolCallFor(names: string[]): { name: string; arguments: Record<string, unknown> } | undefined {
  if (names.includes("lookup")) return { name: "lookup", arguments: { key: "answer" } };
  if (names.includes("read_file")) return { name: "read_file", arguments: { path: "notes.md" } };
  return undefined;
}

process.send?.(server.url);
process.once("disconnect", () => void server.close());
