import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { AppError, errorMessage } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import type { ModelLoader } from "@millrace/models/load-model";
import type { Prompts } from "../../prompts/prompts.ts";
import { titlePrompt } from "../../prompts/templates/title.ts";
import type { Run } from "@millrace/engine/storage/records";
import { nameOf, readMessages, shorten } from "@millrace/engine/sessions/messages/conversation";
import type { SessionStorage } from "@millrace/engine/sessions/scope/session-storage";
import { roleOf, splitReasoning, wordsOf } from "@millrace/engine/sessions/messages/message-fields";

/** Milliseconds a model gets for a title. */
const patience = 30_000;
/** Maximum titles written at the same time; a further session keeps its title by rule until its next run. */
const maxConcurrent = 4;
/** Characters of each side that the model is shown, and of a title. */
const shownLength = 2000;
const titleLength = 60;

/** What gives sessions titles by a model. */
export interface TitleWriter {
  /** Checks a session whose run has ended; returns at once. */
  consider: (run: Run) => void;
  /** Ends running work; resolves when nothing is being written. */
  stop(): Promise<void>;
}

/** Dependencies of the title writer. Without a `model` it does nothing: names are then derived by rule when read. */
export interface TitleWriterParts {
  storage: SessionStorage;
  loadModel: ModelLoader;
  model: () => string | undefined;
  prompts: Prompts;
  logger: Pick<Logger, "debug">;
}

/**
 * Writes a session's title from its first exchange, after the reply: no run waits for it, and a failure is only logged.
 * Sessions with a name or a title stay as they are.
 */
export function startTitleWriter(parts: TitleWriterParts): TitleWriter {
  const stopping = new AbortController();
  const underWay = new Map<string, Promise<void>>();
  return {
    consider(run) {
      const { session_id: id } = run;
      const model = parts.model();
      if (model === undefined || run.status !== "success" || run.kwargs.temporary) return;
      if (stopping.signal.aborted || underWay.has(id) || underWay.size >= maxConcurrent) return;
      const work = writeTitle(parts, model, id, stopping.signal)
        .catch((error: unknown) => {
          parts.logger.debug({ session_id: id, reason: errorMessage(error) }, "title_not_written");
        })
        .finally(() => underWay.delete(id));
      underWay.set(id, work);
    },
    async stop() {
      stopping.abort(new AppError("cancelled", "The server is stopping."));
      await Promise.all(underWay.values());
    },
  };
}

async function writeTitle(
  { storage, loadModel, prompts }: TitleWriterParts,
  model: string,
  sessionId: string,
  stopping: AbortSignal,
): Promise<void> {
  const session = await storage.sessions.get(sessionId);
  if (session === undefined) return;
  const messages = await readMessages(storage, sessionId);
  const exchange = firstExchange(messages);
  const { source } = nameOf(session, messages);
  if (exchange === undefined || source === "given" || source === "model") return;
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(patience)]);
  const answer = await loadModel(model, {}).invoke([new HumanMessage(titlePrompt(exchange, prompts))], { signal });
  const title = toTitle(answer.text);
  if (title === undefined) throw new AppError("empty_result", "The model gave no title.");
  // A name set meanwhile takes precedence.
  await storage.sessions.update(sessionId, { metadata: { title }, keepsTime: true });
}

function firstExchange(messages: readonly BaseMessage[]): { user: string; assistant: string } | undefined {
  const begin = messages.findIndex((message) => roleOf(message) === "user");
  if (begin === -1) return undefined;
  const reply = messages
    .slice(begin)
    .find((message) => roleOf(message) === "assistant" && wordsOf(message).trim() !== "");
  const user = messages[begin];
  if (reply === undefined || user === undefined) return undefined;
  return { user: wordsOf(user).slice(0, shownLength), assistant: wordsOf(reply).slice(0, shownLength) };
}

/** Characters of a line that are read: of one without an end the patterns below take time by the square. */
const maxLineLength = 1000;

/** The title in a model's answer: its first line with words, without marks around it. */
export function toTitle(answer: string): string | undefined {
  const lines = splitReasoning(answer).content.split("\n");
  const line = (lines.find((one) => /[\p{L}\p{N}]/u.test(one)) ?? "").slice(0, maxLineLength);
  const plain = line
    .replace(/^\s*(?:title|标题)\s*[:：]\s*/iu, "")
    .replaceAll(/\p{Cc}/gu, " ")
    .replaceAll(/^[\s"'“”‘’«»《》「」`*#]+|[\s"'“”‘’«»《》「」`*.。]+$/gu, "");
  return plain === "" ? undefined : shorten(plain, titleLength);
}
