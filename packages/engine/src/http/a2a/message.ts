import { ContentTypeNotSupportedError, RequestMalformedError } from "@a2a-js/sdk/errors";
import { z } from "zod";
import { readDecision } from "../../sessions/questions/read-decision.ts";
import { readQuestion, resumeValue } from "../../sessions/questions/questions.ts";
import { JsonObject, type Approval } from "../../storage/records.ts";

const Content = z.discriminatedUnion("$case", [
  z.object({ $case: z.literal("text"), value: z.string() }),
  z.object({ $case: z.literal("data"), value: z.unknown() }),
  z.object({ $case: z.enum(["raw", "url"]), value: z.unknown() }),
]);
const SentMessage = z.object({
  contextId: z.string(),
  taskId: z.string(),
  parts: z
    .array(z.object({ content: Content }))
    .min(1)
    .max(1_000),
});

/** What a message of a client says, and where. */
export interface Said {
  /** Empty where a new context begins. */
  contextId: string;
  /** Empty where a new task begins. */
  taskId: string;
  text: string;
  data: unknown[];
}

/** Reads a message that the library has put into its form. Throws the protocol's errors; files are taken by no graph yet. */
export function readMessage(message: unknown): Said {
  const parsed = SentMessage.safeParse(message);
  if (!parsed.success) throw new RequestMalformedError(`message: ${z.prettifyError(parsed.error)}`);
  const { contextId, taskId, parts } = parsed.data;
  const said: Said = { contextId, taskId, text: "", data: [] };
  const texts: string[] = [];
  for (const { content } of parts) {
    if (content.$case === "text") texts.push(content.value);
    else if (content.$case === "data") said.data.push(content.value);
    else throw new ContentTypeNotSupportedError("Send text and data parts: files are not taken.");
  }
  return { ...said, text: texts.join("\n") };
}

/**
 * The input of a run. Data goes into the channels that it names; of a conversation the rest is words for the model, as
 * JSON. Throws where a graph without messages is told words.
 */
export function toInput({ text, data }: Said, channels: readonly string[]): JsonObject {
  const input: JsonObject = {};
  if (!channels.includes("messages")) {
    if (text.trim() !== "") {
      throw new RequestMalformedError(
        'The graph of this assistant has no channel "messages": send one data part with its input, and no text.',
      );
    }
    for (const value of data) Object.assign(input, objectOf(value));
    return input;
  }
  const words = text === "" ? [] : [text];
  for (const value of data) {
    const entries = Object.entries(JsonObject.safeParse(value).data ?? { "": value });
    const isField = ([name]: [string, unknown]): boolean => channels.includes(name);
    Object.assign(input, Object.fromEntries(entries.filter(isField)));
    const others = entries.filter((entry) => !isField(entry));
    if (others.length > 0) words.push(JSON.stringify(others[0]?.[0] === "" ? value : Object.fromEntries(others)));
  }
  if (words.length === 0 && "messages" in input) return input;
  return { ...input, messages: [{ role: "user", content: words.join("\n\n") }] };
}

function objectOf(value: unknown): JsonObject {
  const parsed = JsonObject.safeParse(value);
  if (!parsed.success)
    throw new RequestMalformedError("A data part for this assistant is an object: its graph's input.");
  return parsed.data;
}

/**
 * What the question that waits is answered with: data as it is (by the ids of questions, where it names them), words as
 * they are, but for a question about actions of a graph that is not ours, which takes a yes or a no.
 */
export function toResume(said: Said, waiting: readonly Approval[], understandsWords: boolean): unknown {
  const [first] = waiting;
  const [data] = said.data;
  const ids = waiting.map(({ interrupt_id }) => interrupt_id);
  if (said.data.length > 0) {
    const named = Object.keys(JsonObject.safeParse(data).data ?? {});
    return named.length > 0 && named.every((id) => ids.includes(id)) ? data : { [first?.interrupt_id ?? ""]: data };
  }
  return { [first?.interrupt_id ?? ""]: understandsWords ? said.text : answerOf(said.text, first?.value) };
}

function answerOf(text: string, value: unknown): unknown {
  const question = readQuestion(value);
  if (question.actions.length === 0) return text;
  const { kind } = readDecision(text);
  if (kind === "approve" || kind === "reject") return resumeValue(question, { type: kind });
  throw new RequestMalformedError(
    'This question takes yes or no, or a data part {"decisions": [{"type": "approve"}]}.',
  );
}
