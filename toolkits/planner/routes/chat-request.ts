import { z } from "zod";
import { readDecision } from "@millrace/engine/sessions/questions/read-decision";
import { readQuestion } from "@millrace/engine/sessions/questions/questions";
import { JsonObject, type Approval } from "@millrace/engine/storage/records";
import type { Toolkit } from "../../../src/toolkits/toolkit.ts";
import { RunBody } from "@millrace/engine/http/requests/run-request";
import { Id } from "@millrace/engine/http/validate";

const ChatMessage = z.object({ role: z.enum(["user", "assistant"]), text: z.string() });

/**
 * The body of both chat endpoints: `messages`, `system`, `max_tokens` and `stream` as existing clients send them, then
 * optional extras.
 */
export const ChatBody = z
  .object({
    messages: z
      .array(ChatMessage)
      .min(1)
      .max(1_000)
      .refine((messages) => messages.at(-1)?.role === "user", { error: "expected the last message to be the user's" }),
    system: z.string().max(200_000).nullish().describe("A system text in place of the planner's own identity"),
    max_tokens: z.number().int().min(1).max(1_000_000).nullish().describe("Tokens of one answer of the model"),
    stream: z.boolean().nullish(),
    thread_id: Id.nullish().describe("The conversation that goes on; without one a new one begins, see X-Thread-Id"),
    tools: z
      .enum(["server", "client", "none"])
      .nullish()
      .describe(
        "Who carries out tool calls: the server; the client, which reads <tool_use> in the text; or nobody. " +
          "Left out: the client where `system` tells of <tool_use>, else the server",
      ),
    model: z.string().min(1).nullish(),
    context: JsonObject.nullish().describe("What a run may choose, as in POST /runs"),
    assistant_id: z.string().min(1).default("agent"),
    on_disconnect: z.enum(["continue", "cancel"]).default("continue"),
  })
  .meta({ ref: "ChatCreate" });
export type ChatBody = z.infer<typeof ChatBody>;

/** The conversation a chat continues. */
export interface ChatPlace {
  /** The conversation has messages, so it already knows the earlier ones. */
  hasHistory: boolean;
  /** Its oldest open question. */
  waiting: Approval | undefined;
  /** The toolkits available to the caller. */
  toolkits: readonly Toolkit[];
}

/**
 * The run of a chat request. In an existing conversation only what follows the last reply is new; if a question is
 * open, text that answers it does.
 */
export function toRunBody(body: ChatBody, place: ChatPlace): RunBody {
  const { messages, assistant_id } = body;
  const words = messages.slice(messages.findLastIndex(({ role }) => role === "assistant") + 1);
  const last = words.at(-1)?.text ?? "";
  const answered = place.waiting !== undefined && words.length === 1 && isAnswer(place.waiting, last);
  const sent = place.hasHistory ? words : messages;
  return RunBody.parse({
    assistant_id,
    ...(answered
      ? { command: { resume: { [place.waiting?.interrupt_id ?? ""]: last } } }
      : { input: { messages: sent.map(({ role, text }) => ({ role, content: text })) } }),
    context: { ...contextOf(body, place), ...body.context },
    stream_mode: ["messages-tuple", "custom"],
    // Messages sent during a run are answered after it.
    multitask_strategy: "enqueue",
    on_disconnect: body.on_disconnect,
  });
}

/** Where tool calls run. A client whose own prompt describes `<tool_use>` parses the calls from the text itself. */
function toolSide({ tools, system }: ChatBody): "server" | "client" | "none" {
  return tools ?? (system?.includes("<tool_use>") === true ? "client" : "server");
}

function contextOf(body: ChatBody, { toolkits }: ChatPlace): JsonObject {
  const { system, max_tokens, model } = body;
  const isPlanner = toolkits.some(({ name }) => name === "planner");
  return {
    // These chats are about tasks, so no routing is needed.
    ...(toolSide(body) === "server" ? { mode: "free_work" } : { chat_mode: "chat" }),
    ...(toolSide(body) === "server" && isPlanner ? { toolkits: ["planner"] } : {}),
    // Text calls of models without native calls are for the client, too.
    ...(toolSide(body) === "client" ? { tool_protocol: "native" } : {}),
    ...(isPlanner ? { profile: "planner" } : {}),
    ...(system === undefined || system === null || system.trim() === "" ? {} : { system }),
    ...(max_tokens === undefined || max_tokens === null ? {} : { max_tokens }),
    ...(model === undefined || model === null ? {} : { model }),
  };
}

/** Whether text answers a question: about an action only a plain yes or no does; anything else is a new request. */
function isAnswer({ value }: Approval, words: string): boolean {
  const { actions } = readQuestion(value);
  return words.trim() !== "" && (actions.length === 0 || readDecision(words).kind !== "unclear");
}
