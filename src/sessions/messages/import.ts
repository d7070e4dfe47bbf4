import { setImmediate as nextTurn } from "node:timers/promises";
import type { BaseMessage } from "@langchain/core/messages";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { z } from "zod";
import { isHumanMessage } from "@millrace/engine/message-kinds";
import { AppError } from "@millrace/engine/errors/errors";
import type { Graphs } from "@millrace/engine/graphs/load";
import { ConversationSummary, WorkMode } from "../../state.ts";
import { JsonObject, type Session } from "@millrace/engine/storage/records";
import { type NewValues, putValues } from "@millrace/engine/sessions/state/prune";
import { NameSource, SessionName, validList } from "@millrace/engine/sessions/messages/conversation";
import type { SessionStorage } from "@millrace/engine/sessions/scope/session-storage";
import { withNewStates } from "@millrace/engine/sessions/state/fork";
import { exportFormat } from "./export.ts";
import { createSession } from "@millrace/engine/sessions/sessions";
import {
  fromStored,
  readStoredList,
  repeatedId,
  type StoredMessage,
} from "@millrace/engine/sessions/messages/stored-message";

/** Number of newest turns that get a state of their own, so that users can return to them. */
const turnsKept = 200;
/** Older turns written per step; all in one step would block other requests. */
const turnsPerStep = 50;

/** The marker of an export. */
const Format = z.looseObject({ format: z.literal(exportFormat.name), version: z.number().int().positive() });

/** What an import reads of an export. Only the messages have to be there. */
const SessionFields = z.looseObject({
  session_id: z.string().nullish(),
  session_name: SessionName.nullish(),
  name_source: NameSource.catch("given").default("given"),
  description: z.string().max(2000).nullish(),
  graph_id: z.string().nullish(),
  work_mode: WorkMode.nullish(),
  metadata: JsonObject.nullish(),
  summary: ConversationSummary.nullish(),
  ui_state: JsonObject.nullish(),
  /** Read one by one: there may be many. */
  messages: z.array(z.unknown()).max(20_000),
});

interface SessionFile {
  fields: z.infer<typeof SessionFields>;
  messages: StoredMessage[];
}

/**
 * Makes a new session of an export. Its id is new; messages keep theirs. A call without a result gets one (law 6).
 * Throws `invalid_format` for a foreign, newer or damaged file, and `not_found` for a graph that is not served.
 */
export async function importSession(
  { storage, graphs }: { storage: SessionStorage; graphs: Graphs },
  file: unknown,
  graphId: string | undefined,
): Promise<Session> {
  const { fields, messages: stored } = await readFile(file);
  const graph_id = graphId ?? fields.graph_id;
  if (graph_id === null || graph_id === undefined) {
    throw new AppError("invalid_format", "The file does not say which graph the session belongs to.", {
      suggestion: "Say it with the query graph_id.",
      message_zh: "文件没有说明会话属于哪个图。",
    });
  }
  graphs.get(graph_id);
  const now = new Date().toISOString();
  const made: BaseMessage[] = [];
  for (const message of stored) {
    if (made.length % 100 === 99) await nextTurn();
    made.push(fromStored(message, now));
  }
  const messages = validList(made);
  return await withNewStates(storage, async (session_id) => {
    await putTurns(storage, session_id, messages, channelsOf(fields, messages));
    return await createSession(storage, { session_id, metadata: { ...metadataOf(fields), graph_id } });
  });
}

async function readFile(file: unknown): Promise<SessionFile> {
  const format = Format.safeParse(file).data;
  if (format === undefined) {
    const got = JsonObject.safeParse(file).data?.["format"];
    throw new AppError(
      "invalid_format",
      `Expected a file of the format ${exportFormat.name}, got ${JSON.stringify(got ?? null)}.`,
      {
        suggestion: "Import what GET /threads/:id/export?format=json gives.",
        message_zh: `这不是导出的会话文件（应为 ${exportFormat.name} 格式）。请选择以 JSON 格式导出的会话。`,
      },
    );
  }
  if (format.version > exportFormat.version) {
    throw new AppError(
      "invalid_format",
      `The file is of version ${format.version}; this server reads up to ${exportFormat.version}.`,
      {
        suggestion: "Import it with the version of the server that exported it, or a later one.",
        message_zh: `文件的版本是 ${format.version}，此服务器最高支持版本 ${exportFormat.version}。请用导出它的版本或更新的版本导入。`,
      },
    );
  }
  const parsed = SessionFields.safeParse(file);
  const read = await readStoredList(parsed.data?.messages ?? []);
  const found = [
    ...(parsed.error?.issues ?? []),
    ...read.problems.map(({ path, message }) => ({ path: ["messages", ...path], message })),
  ];
  const twice = found.length === 0 ? repeatedId(read.messages) : undefined;
  if (parsed.data !== undefined && found.length === 0 && twice === undefined) {
    return { fields: parsed.data, messages: read.messages };
  }
  const problems = found.slice(0, 5).map(({ path, message }) => `${path.join(".")}: ${message}`);
  if (twice !== undefined) problems.push(`messages: two have the id ${twice}`);
  throw new AppError("invalid_format", `The file cannot be read as a session: ${problems.join("; ")}.`, {
    message_zh: `文件无法作为会话读取：${problems.join("；")}。`,
  });
}

function metadataOf({ session_name, name_source, ...file }: SessionFile["fields"]): JsonObject {
  const { session_id, description, metadata, ui_state } = file;
  const wasChosen = name_source === "given" || name_source === "model";
  return {
    ...metadata,
    ...(session_name && wasChosen && { [name_source === "given" ? "name" : "title"]: session_name }),
    ...(description && { description }),
    ...(ui_state && { ui_state }),
    ...(session_id && { imported_from: session_id }),
  };
}

/** Other state fields from the file; a summary only if it refers to existing messages. */
function channelsOf({ work_mode, summary }: SessionFile["fields"], messages: readonly BaseMessage[]): JsonObject {
  const isOfThese = messages.some(({ id }) => id === summary?.through_message_id);
  return {
    ...(work_mode && { work_mode }),
    ...(summary && isOfThese && { conversation_summary: summary }),
  };
}

/** Writes a state for the beginning of each turn, and one for the end. */
async function putTurns(
  { checkpointer }: SessionStorage,
  sessionId: string,
  messages: BaseMessage[],
  channels: JsonObject,
): Promise<void> {
  const beginnings = messages.flatMap((message, index) => (isHumanMessage(message) ? [index] : []));
  let state: CheckpointTuple | undefined;
  const kept = beginnings.filter((_, turn) => turn >= beginnings.length - turnsKept || turn % turnsPerStep === 0);
  for (const index of kept) {
    state = await putValues(checkpointer, sessionId, state, { messages: messages.slice(0, index) });
    await nextTurn();
  }
  const values: NewValues = { ...channels, messages };
  await putValues(checkpointer, sessionId, state, values);
}
