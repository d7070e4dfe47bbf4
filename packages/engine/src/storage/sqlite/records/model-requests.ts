import { hash } from "node:crypto";
import {
  BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import type { ModelRequest, ModelRequestStore, RequestHead } from "../../record-stores.ts";
import type { Codec } from "../checkpoints/codec.ts";
import type { Database } from "../database/database.ts";
import { readRow } from "../database/rows.ts";
import type { GroupCommit } from "../database/durable.ts";

/** Messages of one group of a row. A message that is not stored elsewhere costs its group the short form, not the row. */
const groupSize = 64;

const SessionKey = z.object({ id: z.number() });
const RequestRow = z.object({
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

const columns = "node, is_silent, asked_at, head, tools, data";
const upsert = `INSERT INTO model_requests (session, ${columns})
  VALUES (@session, @node, @is_silent, @asked_at, @head, @tools, @data)
  ON CONFLICT (session, node) DO UPDATE SET is_silent = excluded.is_silent, asked_at = excluded.asked_at,
    head = excluded.head, tools = excluded.tools, data = excluded.data`;
const select = `SELECT ${columns} FROM model_requests
  WHERE session = (SELECT id FROM sessions WHERE session_id = @session_id)`;
const newest = "ORDER BY asked_at DESC, model_requests.id DESC LIMIT 1";

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

/**
 * The last requests in SQLite. A request's messages are those of the session, which are stored already: its row refers
 * to them, so that it costs the same however long the session is (docs/decisions).
 */
export function createModelRequestStore(database: Database, commits: GroupCommit, codec: Codec): ModelRequestStore {
  const texts = new Texts(database);
  const storedLists = new Set<string>();

  /** Stores the request; gives the hash of its tools where they were not known to be stored. */
  const write = (request: ModelRequest): string | undefined => {
    const { session_id, node, is_silent, asked_at, messages, run_id } = request;
    const { model, temperature, thinking, max_tokens, tool_protocol, forced_tool } = request;
    const found = database.prepare("SELECT id FROM sessions WHERE session_id = ?").get(session_id);
    const session = readRow(SessionKey, "sessions", found)?.id;
    if (session === undefined) return undefined;
    const chosen = { model, temperature, thinking, max_tokens, tool_protocol, forced_tool };
    const data = codec.encodeHere(session_id, { run_id, ...chosen, groups: groupsOf(messages) });
    const head = texts.of(request.head, () => headText(request.head));
    texts.keep(head);
    const definitions = request.tools.map((tool) => texts.of(tool, () => JSON.stringify(tool)));
    const tools = hashed(JSON.stringify(definitions.map((definition) => definition.hash)));
    const isNew = !storedLists.has(tools.hash);
    if (isNew) for (const text of [...definitions, tools]) texts.keep(text);
    const row = { session, node, is_silent: is_silent ? 1 : 0, asked_at, data, head: head.hash, tools: tools.hash };
    database.prepare(upsert).run(row);
    return isNew ? tools.hash : undefined;
  };

  return {
    async note(request) {
      const stored = await commits.transaction(() => write(request));
      if (storedLists.size >= listsRemembered) storedLists.clear();
      if (stored !== undefined) storedLists.add(stored);
    },

    async last(session_id, node) {
      const which = node === undefined ? "AND is_silent = 0" : "AND node = @node";
      const found = database.read(() => {
        const row = database.prepare(`${select} ${which} ${newest}`).get({ session_id, ...(node && { node }) });
        const request = readRow(RequestRow, "model_requests", row);
        if (request === undefined) return undefined;
        return { ...request, head: texts.read(request.head), tools: texts.readList(request.tools) };
      });
      if (found === undefined) return undefined;
      const { groups, ...rest } = StoredRequest.parse(await codec.decode(session_id, found.data));
      const { node: asker, asked_at, tools } = found;
      const about = { session_id, node: asker, is_silent: found.is_silent === 1, asked_at };
      return { ...rest, ...about, head: readHead(found.head), tools, messages: groups.flat() };
    },
  };
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
