import { z } from "zod";
import { callsKept, type ModelCall, type ModelRequest, type ModelRequestStore } from "../../record-stores.ts";
import type { Codec } from "../../checkpoints/codec.ts";
import {
  CallRow,
  fromStored,
  hashesIn,
  missingText,
  readDefinition,
  RequestRow,
  SharedTexts,
  type SharedText,
  toStored,
} from "../../model-requests.ts";
import { readRow, readRows } from "../../rows.ts";
import type { Database } from "../database/database.ts";
import type { GroupCommit } from "../database/durable.ts";

const SessionKey = z.object({ id: z.number() });
const StoredRow = RequestRow.extend({ data: z.union([z.string(), z.instanceof(Buffer)]) });
const TextRow = z.object({ text: z.string() });

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

const PlaceRow = z.object({ id: z.number(), node: z.string() });
const BeforeRow = z.object({ run_id: z.string(), number: z.number() });

/** Lists of tools that are known to be stored; the set is emptied when so many have come. */
const listsRemembered = 1000;

/** Stores a text; in the caller's transaction. */
function keepText(database: Database, { hash, text }: SharedText): void {
  database.prepare("INSERT INTO model_texts (hash, text) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING").run(hash, text);
}

/** Throws `storage_corrupt` when it is not there. */
function readText(database: Database, hash: string): string {
  const row = database.prepare("SELECT text FROM model_texts WHERE hash = ?").get(hash);
  const found = readRow(TextRow, "model_texts", row);
  if (found === undefined) throw missingText();
  return found.text;
}

/** The requests; each attempt records its own. */
export interface SqliteRequests extends Omit<ModelRequestStore, "record"> {
  /** `ModelRequestStore.record`, unless `check`, in the same transaction, throws. */
  recordWith(request: ModelRequest, check: () => void): Promise<void>;
}

/**
 * The requests in SQLite. A request's messages are those of the session, which are stored already: its row refers
 * to them, so that it costs the same however long the session is (docs/decisions).
 */
export function createModelRequestStore(database: Database, commits: GroupCommit, codec: Codec): SqliteRequests {
  const texts = new SharedTexts();
  const storedLists = new Set<string>();

  /** Stores the request; gives the hash of its tools where they were not known to be stored. */
  const write = (request: ModelRequest): string | undefined => {
    const { session_id, node, is_silent, asked_at, run_id, model_call_id } = request;
    const found = database.prepare("SELECT id FROM sessions WHERE session_id = ?").get(session_id);
    const session = readRow(SessionKey, "sessions", found)?.id;
    if (session === undefined) return undefined;
    const data = codec.encode(session_id, toStored(request), "all");
    const { head, definitions, tools } = texts.of(request);
    keepText(database, head);
    const isNew = !storedLists.has(tools.hash);
    if (isNew) for (const text of [...definitions, tools]) keepText(database, text);
    const row = { model_call_id, node, is_silent: is_silent ? 1 : 0, asked_at, data };
    database.prepare(insert).run({ session, run_id, ...row, head: head.hash, tools: tools.hash });
    database.prepare(removeOfRun).run({ session, run_id });
    database.prepare(removeOfSession).run({ session });
    return isNew ? tools.hash : undefined;
  };

  const read = (session_id: string, sql: string, parameters: Record<string, string | number>) =>
    readRequest({ database, codec }, sql, { session_id, ...parameters });

  return {
    async recordWith(request, check) {
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
  { database, codec }: { database: Database; codec: Codec },
  sql: string,
  parameters: Record<string, string | number> & { session_id: string },
): Promise<ModelRequest | undefined> {
  const found = database.read(() => {
    const row = readRow(StoredRow, "model_requests", database.prepare(sql).get(parameters));
    if (row === undefined) return undefined;
    const tools = hashesIn(readText(database, row.tools)).map((hash) => readDefinition(readText(database, hash)));
    return { row, head: readText(database, row.head), tools };
  });
  if (found === undefined) return undefined;
  const { session_id } = parameters;
  const value = await codec.decode(session_id, found.row.data);
  return fromStored(session_id, found.row, { value, head: found.head, tools: found.tools });
}

function listCalls(database: Database, session_id: string, run_id: string): ModelCall[] {
  const sql = `SELECT number, run_id, model_call_id, node, is_silent, asked_at FROM model_requests
    WHERE ${ofSession} AND run_id = @run_id ORDER BY number DESC`;
  return readRows(CallRow, "model_requests", database.prepare(sql).all({ session_id, run_id }));
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
