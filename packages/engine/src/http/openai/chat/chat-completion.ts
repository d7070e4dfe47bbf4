import { z } from "zod";
import type { Run } from "../../../storage/records.ts";
import { type InputMessage, type TurnEvent, withoutLost } from "../turn/follow-turn.ts";
import { failedRunBody } from "../problem.ts";
import type { ClientCall, TurnResult, TurnUsage } from "../turn/turn-reader.ts";

const Usage = z.object({
  prompt_tokens: z.number().int(),
  completion_tokens: z.number().int(),
  total_tokens: z.number().int(),
  prompt_tokens_details: z.object({ cached_tokens: z.number().int() }),
  completion_tokens_details: z.object({ reasoning_tokens: z.number().int() }),
});
const ToolCall = z.object({
  id: z.string(),
  type: z.literal("function"),
  function: z.object({ name: z.string(), arguments: z.string() }),
});

/** What OpenAI's form lacks: where the conversation is stored, and what waits for a person. */
export const LangGraphPart = z.object({
  thread_id: z.string(),
  run_id: z.string(),
  interrupts: z.array(z.object({ id: z.string(), value: z.unknown() })),
});

/** The response of `POST /v1/chat/completions`. */
export const ChatCompletion = z
  .object({
    id: z.string(),
    object: z.literal("chat.completion"),
    created: z.number().int(),
    model: z.string(),
    choices: z.array(
      z.object({
        index: z.number().int(),
        message: z.object({
          role: z.literal("assistant"),
          content: z.string().nullable(),
          refusal: z.null(),
          reasoning_content: z.string().optional(),
          tool_calls: z.array(ToolCall).optional(),
        }),
        finish_reason: z.enum(["stop", "length", "tool_calls"]),
        logprobs: z.null(),
      }),
    ),
    usage: Usage,
    langgraph: LangGraphPart,
  })
  .meta({ ref: "ChatCompletion" });
type ChatCompletion = z.infer<typeof ChatCompletion>;

/** The text of a turn piece by piece, with an empty line between messages. */
export function createGaps(): (id: string, text: string) => string {
  let last: { id: string; end: string } | undefined;
  return (id, text) => {
    const gap = last === undefined || last.id === id ? "" : "\n\n".slice(newlines(last.end));
    last = { id, end: text };
    return gap + text;
  };
}

function newlines(text: string): number {
  return text.endsWith("\n\n") ? 2 : Number(text.endsWith("\n"));
}

/** The common fields of all chunks and of the whole response. */
function headOf({ run_id, created_at }: Run, model: string) {
  return { id: `chatcmpl-${run_id}`, created: Math.floor(Date.parse(created_at) / 1000), model };
}

/** A whole turn as one response; never throws, since failed runs are answered elsewhere. */
export function toChatCompletion(events: readonly TurnEvent[], model: string): ChatCompletion | undefined {
  const last = events.at(-1);
  if (last === undefined || !("end" in last)) return undefined;
  const { end, run, question } = last;
  const words = createGaps();
  let content = "";
  let thoughts = "";
  for (const event of withoutLost(events)) {
    if ("end" in event || event.item.type === "lost") continue;
    const { type, id, text } = event.item;
    if (type === "text") content += words(id, text);
    else thoughts += text;
  }
  if (question !== "") content += words("question", question);
  return {
    ...headOf(run, model),
    object: "chat.completion",
    choices: [
      {
        index: 0,
        message: {
          role: "assistant",
          content: content === "" && end.calls.length > 0 ? null : content,
          refusal: null,
          ...(thoughts !== "" && { reasoning_content: thoughts }),
          ...(end.calls.length > 0 && { tool_calls: end.calls.map(toToolCall) }),
        },
        finish_reason: finishOf(end),
        logprobs: null,
      },
    ],
    usage: toUsage(end.usage),
    langgraph: placeOf(run, end),
  };
}

/** The answer as the client will send it back with its next request. */
export function toHistory(events: readonly TurnEvent[]): InputMessage {
  const { message } = toChatCompletion(events, "")?.choices[0] ?? {};
  const calls = (message?.tool_calls ?? []).map(({ id, function: { name, arguments: args } }) => ({ id, name, args }));
  return { role: "assistant", content: message?.content ?? "", calls };
}

/** Writes a turn as the chunks of OpenAI's stream; with `usage`, the last one has the token counts. */
export function createChunks(model: string, started: Run, { usage }: { usage: boolean }): (event: TurnEvent) => string {
  const head = { ...headOf(started, model), object: "chat.completion.chunk" };
  const words = createGaps();
  let hasBegun = false;
  const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
    frame({
      ...head,
      choices: [{ index: 0, delta, finish_reason, logprobs: null }],
      ...(usage && { usage: null }),
      ...more,
    });
  const begin = (): string => {
    if (hasBegun) return "";
    hasBegun = true;
    return chunk({ role: "assistant", content: "", refusal: null });
  };
  return (event) => {
    if (!("end" in event)) {
      if (event.item.type === "lost") return "";
      const { type, id, text } = event.item;
      return begin() + chunk(type === "text" ? { content: words(id, text) } : { reasoning_content: text });
    }
    const { end, run, question } = event;
    if (end.error !== undefined) return `${begin()}${frame(failedRunBody(end.error))}`;
    const questionChunk = question === "" ? "" : chunk({ content: words("question", question) });
    const calls = end.calls.map((call, index) => chunk({ tool_calls: [{ index, ...toToolCall(call) }] })).join("");
    const last = chunk({}, finishOf(end), { langgraph: placeOf(run, end) });
    const usageChunk = usage ? frame({ ...head, choices: [], usage: toUsage(end.usage) }) : "";
    return `${begin()}${questionChunk}${calls}${last}${usageChunk}data: [DONE]\n\n`;
  };
}

function frame(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function finishOf({ calls, isCut }: TurnResult): "stop" | "length" | "tool_calls" {
  if (calls.length > 0) return "tool_calls";
  return isCut ? "length" : "stop";
}

function toToolCall({ id, name, args }: ClientCall): z.infer<typeof ToolCall> {
  return { id, type: "function", function: { name, arguments: args } };
}

function toUsage({ input, output, cached, reasoning }: TurnUsage): z.infer<typeof Usage> {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

/** Where a turn is stored, and what waits in it. */
export function placeOf({ session_id, run_id }: Run, { questions }: TurnResult): z.infer<typeof LangGraphPart> {
  return { thread_id: session_id, run_id, interrupts: questions };
}
