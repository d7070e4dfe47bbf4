import type { ThreadState } from "@langchain/langgraph-sdk";
import { notUnderstood } from "@millrace/offline/talk";
import { z } from "zod";

const Chunk = z.looseObject({ id: z.string().nullish(), type: z.string(), content: z.unknown() });
const Custom = z.looseObject({ type: z.string() });
const ToolCalled = z.object({
  type: z.literal("agentic_loop.tool_called"),
  tool_name: z.string(),
  arguments: z.unknown(),
});
const ToolResult = z.object({
  type: z.literal("agentic_loop.tool_result"),
  tool_name: z.string(),
  success: z.boolean(),
  result_preview: z.string(),
});
const Values = z.looseObject({
  messages: z.array(
    z.looseObject({
      type: z.string(),
      content: z.unknown(),
      tool_calls: z.array(z.looseObject({ name: z.string() })).default([]),
    }),
  ),
});

/** Characters that are shown of a call's arguments, and of what a call came to. */
const shownLength = 160;

/** A heading for a step. */
export function say(step: number, title: string, request: string): void {
  console.log(`\n${step}. ${title}\n   > ${indented(request)}`);
}

/** A line of a step, or several. */
export function note(text: string): void {
  console.log(`   ${indented(text)}`);
}

/** With the further lines below the first, but for those that hold nothing. */
function indented(text: string): string {
  return text.replaceAll(/\n(?=.)/gu, "\n   ");
}

/** A text in one line, cut where it is long. */
export function short(text: string, longest = shownLength): string {
  const line = text.trim().replaceAll(/\s*\n\s*/gu, " ");
  return line.length > longest ? `${line.slice(0, longest).trimEnd()}…` : line;
}

/** Throws where one of these answers is that the stand-in for a model did not understand the request. */
export function requireUnderstood(answers: string): void {
  if (Object.values(notUnderstood).some((words) => answers.includes(words)))
    throw new Error(`The model did not understand the request: ${answers}`);
}

/**
 * Prints a stream of `messages-tuple` and `custom` events as it comes; says how many pieces of text and which tools it saw, and
 * gives what these came to, whole. Throws where the stand-in for a model did not understand the request.
 */
export async function follow(
  stream: AsyncIterable<{ event: string; data: unknown }>,
): Promise<{ pieces: number; tools: string[]; results: string[] }> {
  const tools: string[] = [];
  const results: string[] = [];
  let pieces = 0;
  let reply = "";
  // Which message the last line belongs to, while it is open.
  let open: string | undefined;
  const close = (): void => {
    if (open !== undefined) process.stdout.write("\n");
    open = undefined;
  };
  const line = (text: string): void => {
    close();
    note(text);
  };
  for await (const { event, data } of stream) {
    if (event === "error") throw new Error(`The run failed: ${JSON.stringify(data)}`);
    if (event === "custom") {
      const called = ToolCalled.safeParse(Custom.parse(data));
      if (called.success) {
        tools.push(called.data.tool_name);
        line(`→ ${called.data.tool_name} ${short(JSON.stringify(called.data.arguments))}`);
      }
      const result = ToolResult.safeParse(data);
      if (result.success) line(`← ${result.data.success ? "✓" : "✗"} ${short(result.data.result_preview)}`);
    }
    if (event !== "messages") continue;
    const { id, type, content } = Chunk.parse(z.array(z.unknown()).parse(data)[0]);
    if (type === "tool" && typeof content === "string") results.push(content);
    if (type !== "ai" || typeof content !== "string" || content === "") continue;
    pieces += 1;
    reply += content;
    const message = id ?? "";
    if (message !== open) close();
    process.stdout.write(open === undefined ? `   ${indented(content)}` : content.replaceAll("\n", "\n   "));
    open = message;
  }
  close();
  requireUnderstood(reply);
  return { pieces, tools, results };
}

/** The messages of a state: kind, text, and the tools they call. */
export function messagesOf(state: ThreadState): { type: string; text: string; calls: string[] }[] {
  return Values.parse(state.values).messages.map(({ type, content, tool_calls }) => ({
    type,
    text: typeof content === "string" ? content : JSON.stringify(content),
    calls: tool_calls.map(({ name }) => name),
  }));
}
