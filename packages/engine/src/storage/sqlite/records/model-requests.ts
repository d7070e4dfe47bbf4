import { hash } from "node:crypto";
import {
  BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import {
  callsKept,
  type ModelCall,
  type ModelRequest,
  type ModelRequestStore,
  type RequestHead,
} from "../../record-stores.ts";
import type { Codec } from "../../checkpoints/codec.ts";
import type { Database } from "../database/database.ts";
import { readRow, readRows } from "../../rows.ts";
import type { GroupCommit } from "../database/durable.ts";

/** Messages of one group of a row. A message that is not stored elsewhere costs its group the short form, not the row. */
const groupSize = 64;

const SessionKey = z.object({ id: z.number() });
const RequestRow = z.object({
  model_call_id: z.string().nullable(),
  node: z.string(),
  is_silent: z.number(),
  asked_at: z.string(),
  head: z.string(),
  tools: z.string(),
  data: z.union([z.string(), z.instanceof(Buffer)]),
});
const TextRow = z.object({ text: z.string() });
const StoredHead = z.object({
  system: z.string(),
  parts: z.array(z.object({ name: z.string(), section: z.string(), characters: z.number() })),
  documentation: z.array(z.custom<StoredMessage>(isStoredMessage)),
});
const StoredRequest = z.object({
  run_id: z.string(),
  model: z.string(),
  temperature: z.number().nullable(),
  /** Older rows have none of these. */
  thinking: z.boolean().nullable().default(null),
  max_tokens: z.number().nullable().default(null),
  tool_protocol: z.enum(["native", "text", "tags"]).nullable().default(null),
  forced_tool: z.string().nullable(),
  groups: z.array(z.array(z.instanceof(BaseMessage))),
});
const Hashes = z.array(z.string());
const Definition = z.record(z.string(), z.unknown());

const columns = "model_call_id, node, is_silent, asked_at, head, tools, data";
const ofSession = "session = (SELECT id FROM sessions WHERE session_id = @session_id)";
const insert = `INSERT INTO model_requests (session, run_id, number, ${columns})
  SELECT @session, @run_id, coalesce(max(number), 0) + 1, @model_call_id, @node, @is_silent, @asked_at, @head, @tools, @data
  FROM model_requests WHERE session = @session AND run_id = @run_id`;
const select = `SELECT ${columns} FROM model_requests WHERE ${ofSession}`;
const newest = "ORDER BY id DESC LIMIT 1";
/** Removes one request that is too old, unless it is the last of its node. One more has come, so one is enough. */
const removeAfter = (condition: string, kept: number): string => `DELETE FROM model_requests WHERE id = (
    SELECT id FROM model_requests WHERE session = @session ${condition} ORDER BY id DESC LIMIT 1 OFFSET ${kept}
  ) AND EXISTS (
    SELECT 1 FROM model_requests AS other
    WHERE other.session = @session AND other.node = model_requests.node AND other.id > model_requests.id
  )`;
const removeOfRun = removeAfter("AND run_id = @run_id", callsKept.ofRun);
const removeOfSession = removeAfter("", callsKept.ofSession);

const CallRow = z.object({
  number: z.number(),
  run_id: z.string(),
  model_call_id: z.string().nullable(),
  node: z.string(),
  is_silent: z.number(),
  asked_at: z.string(),
});
const PlaceRow = z.object({ id: z.number(), node: z.string() });
const BeforeRow = z.object({ run_id: z.string(), number: z.number() });

/** Lists of tools that are known to be stored; the set is emptied when so many have come. */
const listsRemembered = 1000;

/** Texts by their hash: what many requests share is written once. An object that was seen before is not hashed again. */
class Texts {
  readonly #database: Database;
  readonly #seen = new WeakMap<object, { hash: string; text: string }>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** What an object comes to, as `write` says. */
  of(object: object, write: () => string): { hash: string; text: string } {
    const seen = this.#seen.get(object);
    if (seen !== undefined) return seen;
    const made = hashed(write());
    this.#seen.set(object, made);
    return made;
  }

  /** Stores a text; in the caller's transaction. */
  keep({ hash: key, text }: { hash: string; text: string }): void {
    this.#database
      .prepare("INSERT INTO model_texts (hash, text) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING")
      .run(key, text);
  }

  /** Throws `storage_corrupt` when it is not there. */
  read(wanted: string): string {
    const row = this.#database.prepare("SELECT text FROM model_texts WHERE hash = ?").get(wanted);
    const found = readRow(TextRow, "model_texts", row);
    if (found !== undefined) return found.text;
    throw new AppError("storage_corrupt", "A part of what the model was last sent is missing.", {
      suggestion: "It is there again after the next message of the session.",
    });
  }

  /** Objects that were stored as JSON, by the hash of their list. */
  readList(wanted: string): object[] {
    const hashes = Hashes.parse(JSON.parse(this.read(wanted)));
    return hashes.map((one) => Definition.parse(JSON.parse(this.read(one))));
  }
}

function hashed(text: string): { hash: string; text: string } {
  return { hash: hash("sha256", text, "base64url"), text };
}

function groupsOf(messages: readonly BaseMessage[]): BaseMessage[][] {
  const groups: BaseMessage[][] = [];
  for (let from = 0; from < messages.length; from += groupSize) groups.push(messages.slice(from, from + groupSize));
  return groups;
}

/** The requests, which attempts note in their own name. */
export interface SqliteRequests extends Omit<ModelRequestStore, "note"> {
  /** `ModelRequestStore.note`, unless `check`, in the same transaction, throws. */
  noteWith(request: ModelRequest, check: () => void): Promise<void>;
}

/**
 * The requests in SQLite. A request's messages are those of the session, which are stored already: its row refers
 * to them, so that it costs the same however long the session is (docs/decisions).
 */
export function createModelRequestStore(database: Database, commits: GroupCommit, codec: Codec): SqliteRequests {
  const texts = new Texts(database);
  const storedLists = new Set<string>();

  /** Stores the request; gives the hash of its tools where they were not known to be stored. */
  const write = (request: ModelRequest): string | undefined => {
    const { session_id, node, is_silent, asked_at, messages, run_id, model_call_id } = request;
    const { model, temperature, thinking, max_tokens, tool_protocol, forced_tool } = request;
    const found = database.prepare("SELECT id FROM sessions WHERE session_id = ?").get(session_id);
    const session = readRow(SessionKey, "sessions", found)?.id;
    if (session === undefined) return undefined;
    const chosen = { model, temperature, thinking, max_tokens, tool_protocol, forced_tool };
    const data = codec.encode(session_id, { run_id, ...chosen, groups: groupsOf(messages) }, "all");
    const head = texts.of(request.head, () => headText(request.head));
    texts.keep(head);
    const definitions = request.tools.map((tool) => texts.of(tool, () => JSON.stringify(tool)));
    const tools = hashed(JSON.stringify(definitions.map((definition) => definition.hash)));
    const isNew = !storedLists.has(tools.hash);
    if (isNew) for (const text of [...definitions, tools]) texts.keep(text);
    const row = {
      model_call_id,
      node,
      is_silent: is_silent ? 1 : 0,
      asked_at,
      data,
      head: head.hash,
      tools: tools.hash,
    };
    database.prepare(insert).run({ session, run_id, ...row });
    database.prepare(removeOfRun).run({ session, run_id });
    database.prepare(removeOfSession).run({ session });
    return isNew ? tools.hash : undefined;
  };

  const read = (session_id: string, sql: string, parameters: Record<string, string | number>) =>
    readRequest({ database, codec, texts }, sql, { session_id, ...parameters });

  return {
    async noteWith(request, check) {
      const stored = await commits.transaction(() => {
        check();
        return write(request);
      });
      if (storedLists.size >= listsRemembered) storedLists.clear();
      if (stored !== undefined) storedLists.add(stored);
    },

    async last(session_id, node) {
      const which = node === undefined ? "AND is_silent = 0" : "AND node = @node";
      return await read(session_id, `${select} ${which} ${newest}`, { ...(node && { node }) });
    },

    calls: async (session_id, run_id) => database.read(() => listCalls(database, session_id, run_id)),

    async call(session_id, run_id, number) {
      const place = { run_id, number };
      const request = await read(session_id, `${select} AND run_id = @run_id AND number = @number`, place);
      if (request === undefined) return undefined;
      return { request, before: database.read(() => callBefore(database, { session_id, ...place })) };
    },
  };
}

/** The request that a statement finds first. */
async function readRequest(
  { database, codec, texts }: { database: Database; codec: Codec; texts: Texts },
  sql: string,
  parameters: Record<string, string | number> & { session_id: string },
): Promise<ModelRequest | undefined> {
  const found = database.read(() => {
    const row = database.prepare(sql).get(parameters);
    const request = readRow(RequestRow, "model_requests", row);
    if (request === undefined) return undefined;
    return { ...request, head: texts.read(request.head), tools: texts.readList(request.tools) };
  });
  if (found === undefined) return undefined;
  const { groups, ...rest } = StoredRequest.parse(await codec.decode(parameters.session_id, found.data));
  const { model_call_id, node, asked_at, tools, is_silent } = found;
  const { session_id } = parameters;
  const about = { session_id, model_call_id, node, is_silent: is_silent === 1, asked_at };
  return { ...rest, ...about, head: readHead(found.head), tools, messages: groups.flat() };
}

function listCalls(database: Database, session_id: string, run_id: string): ModelCall[] {
  const sql = `SELECT number, run_id, model_call_id, node, is_silent, asked_at FROM model_requests
    WHERE ${ofSession} AND run_id = @run_id ORDER BY number DESC`;
  const rows = readRows(CallRow, "model_requests", database.prepare(sql).all({ session_id, run_id }));
  return rows.map(({ is_silent, ...row }) => ({ ...row, is_silent: is_silent === 1 }));
}

/** Which request the same node has made before this one. */
function callBefore(
  database: Database,
  place: { session_id: string; run_id: string; number: number },
): z.infer<typeof BeforeRow> | undefined {
  const { session_id } = place;
  const found = database
    .prepare(`SELECT id, node FROM model_requests WHERE ${ofSession} AND run_id = @run_id AND number = @number`)
    .get(place);
  const own = readRow(PlaceRow, "model_requests", found);
  const sql = `SELECT run_id, number FROM model_requests
    WHERE ${ofSession} AND node = @node AND id < @id AND run_id <> '' ${newest}`;
  return own && readRow(BeforeRow, "model_requests", database.prepare(sql).get({ session_id, ...own }));
}

/** A head is shared by sessions, so it refers to no message of one. */
function headText({ documentation, ...head }: RequestHead): string {
  return JSON.stringify({ ...head, documentation: mapChatMessagesToStoredMessages(documentation) });
}

function readHead(text: string): RequestHead {
  const { documentation, ...head } = StoredHead.parse(JSON.parse(text));
  return { ...head, documentation: mapStoredMessagesToChatMessages(documentation) };
}

function isStoredMessage(value: unknown): boolean {
  return typeof value === "object" && value !== null && "type" in value && "data" in value;
}
