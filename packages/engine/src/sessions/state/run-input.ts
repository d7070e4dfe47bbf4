import { z } from "zod";
import { AppError } from "../../errors/errors.ts";
import type { RunCommand } from "../../runs/attempt/execute.ts";
import { JsonObject, type Session } from "../../storage/records.ts";
import { Attachments, References } from "../messages/message-fields.ts";
import { maxTextLength, maxParts, type StoredMessage } from "../messages/stored-message.ts";
import type { BaseMessage } from "@langchain/core/messages";
import { v7 as newId } from "@langchain/core/utils/uuid";
import { isHumanMessage } from "../../message-kinds.ts";
import { findStateBefore } from "./prune.ts";
import { indexOfMessage, readMessages } from "../messages/conversation.ts";
import type { OwnerScope } from "../scope/owner-scope.ts";
import { lastRunOf } from "../overview/last-run.ts";

/** What may accompany a message's text in a run's input, in either form. */
const Carried = z.looseObject({ attachments: Attachments.nullish(), references: References.nullish() });

const InputMessage = z.looseObject({
  content: z.union([z.string().max(maxTextLength), z.array(z.unknown()).max(maxParts)]).nullish(),
  attachments: Attachments.nullish(),
  references: References.nullish(),
  additional_kwargs: Carried.nullish(),
});

/** Maximum invalid fields reported. */
const maxProblems = 5;

/** Maximum messages in one list, as for an import. */
const maxMessages = 20_000;

/** A message as LangChain serialises one. */
const Constructed = z.looseObject({ lc: z.number(), type: z.literal("constructor"), kwargs: InputMessage });

/** A message as text, or as a pair of role and text. */
const Words = z.union([z.string(), z.tuple([z.string(), z.string()])]);

/** What a run may receive instead of an input. */
type Command = z.infer<typeof RunCommand>;

/**
 * The messages of a run's input, validated like appended ones: lengths, and what accompanies the user's text. That is
 * moved to where LangChain keeps it, since the flat form would lose it. `at` is the path of `values` in the request.
 * Throws `invalid_parameter` with the path of each invalid field.
 */
export function readInputMessages(values: unknown, at: string): unknown {
  const parsed = JsonObject.safeParse(values);
  return parsed.success ? readMessagesIn(parsed.data, at) : values;
}

/**
 * The messages that a command writes and sends, validated like `readInputMessages`; answers belong to the asker of the
 * question.
 */
export function readCommandMessages({ update, goto, ...command }: Command): Command {
  const targets = [goto ?? []].flat().map((target, index) => {
    if (typeof target === "string") return target;
    return { ...target, input: readInputMessages(target.input, `command.goto.${index}.input`) };
  });
  return {
    ...command,
    ...(update && {
      update: Array.isArray(update)
        ? update.map(([channel, value], index): [string, unknown] => {
            return [channel, readMessagesIn({ [channel]: value }, `command.update.${index}`)[channel]];
          })
        : readMessagesIn(update, "command.update"),
    }),
    ...(targets.length > 0 && { goto: targets }),
  };
}

function readMessagesIn(values: JsonObject, at: string): JsonObject {
  const { messages } = values;
  if (messages === undefined || messages === null) return values;
  const list: unknown[] = Array.isArray(messages) ? messages : [messages];
  if (list.length > maxMessages) {
    throw new AppError("too_large", `${at}.messages: at most ${maxMessages} messages are taken, got ${list.length}.`, {
      suggestion: "Send them in several requests: POST /threads/:thread_id/messages adds them without a run.",
    });
  }
  const problems: string[] = [];
  const read = list.map((message, index) => {
    // Enough problems were found.
    if (problems.length >= maxProblems) return message;
    const place = Array.isArray(messages) ? `${at}.messages.${index}` : `${at}.messages`;
    const checked = checkMessage(message);
    problems.push(...checked.problems.map(({ path, message: text }) => `${[place, ...path].join(".")}: ${text}`));
    return checked.message;
  });
  if (problems.length > 0) {
    throw new AppError("invalid_parameter", problems.slice(0, maxProblems).join("; "), {
      suggestion: "Correct the named fields.",
    });
  }
  return { ...values, messages: Array.isArray(messages) ? read : read[0] };
}

function checkMessage(message: unknown): { message: unknown; problems: z.core.$ZodIssue[] } {
  const words = Words.safeParse(message).data;
  if (words !== undefined) {
    const checked = InputMessage.safeParse({ content: typeof words === "string" ? words : words[1] });
    return { message, problems: checked.error?.issues ?? [] };
  }
  const parsed = JsonObject.safeParse(message);
  // The graph decides about anything that is not a message.
  if (!parsed.success) return { message, problems: [] };
  const isConstructed = "lc" in parsed.data;
  const checked = (isConstructed ? Constructed : InputMessage).safeParse(message);
  const problems = checked.error?.issues ?? [];
  return { message: isConstructed || problems.length > 0 ? message : withoutFlat(parsed.data), problems };
}

/** The flat form's own fields, moved to where LangChain keeps unknown fields. */
function withoutFlat({ attachments, references, ...message }: JsonObject): JsonObject {
  const flat = Object.entries({ attachments, references }).filter(([, value]) => value !== undefined && value !== null);
  if (flat.length === 0) return message;
  const known = JsonObject.safeParse(message["additional_kwargs"]).data;
  return { ...message, additional_kwargs: { ...known, ...Object.fromEntries(flat) } };
}

/** A run request that returns a session to a user's message and sends it again. */
interface Rerun {
  assistant_id: string;
  context: JsonObject;
  input: { messages: JsonObject[] };
  checkpoint: { checkpoint_id: string; checkpoint_ns: string };
}

/**
 * The run that sends a user's message again, changed by `content`, as if nothing after it had been said; for any other
 * message, the user's message it belongs to. The abandoned branch stays in the history. Throws `not_found`, and
 * `invalid_state` if there is no user message or its state was pruned.
 */
export async function rerunRequest(
  { storage, runs }: Pick<OwnerScope, "storage" | "runs">,
  session: Session,
  messageId: string,
  content: StoredMessage["content"] | undefined,
): Promise<Rerun> {
  const messages = await readMessages(storage, session.session_id);
  const at = indexOfMessage(messages, messageId);
  const index = messages.slice(0, at + 1).findLastIndex((message) => isHumanMessage(message));
  const message = messages[index];
  if (message === undefined) throw new AppError("invalid_state", "Before this message the user has said nothing.");
  const state = await findStateBefore(storage.checkpointer, session.session_id, messages.slice(0, index));
  if (state === undefined) {
    throw new AppError("invalid_state", "The state before this message is not kept any more.", {
      suggestion: "POST /threads/:id/fork makes a copy up to the message before it; say it anew there.",
      message_zh: "这条消息之前的状态已不再保留。请从它之前的消息复制会话，再重新发送。",
    });
  }
  const { assistant, context: chosen } = await lastRunOf(runs, session);
  const { partial: _partial, compress: _compress, ...context } = chosen;
  return {
    assistant_id: assistant,
    context,
    input: { messages: [anew(message, content)] },
    checkpoint: { checkpoint_id: state.checkpoint.id, checkpoint_ns: "" },
  };
}

/** The message under a new id: the old one keeps its place in the abandoned branch. */
function anew(message: BaseMessage, content: StoredMessage["content"] | undefined): JsonObject {
  const { name } = message;
  const { timestamp: _timestamp, updated_at: _updated, ...kwargs } = message.additional_kwargs;
  return {
    type: "human",
    id: newId(),
    content: content ?? message.content,
    ...(name !== undefined && { name }),
    additional_kwargs: {
      ...kwargs,
      timestamp: new Date().toISOString(),
      ...(message.id !== undefined && { edited_from: message.id }),
    },
  };
}
