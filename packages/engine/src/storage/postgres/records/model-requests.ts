import { z } from "zod";
import type { RunWriter } from "../../attempt-store.ts";
import {
  CallRow,
  fromStored,
  hashesIn,
  missingText,
  readDefinition,
  RequestRow,
  type SharedText,
  SharedTexts,
  toStored,
} from "../../model-requests.ts";
import { callsKept, type ModelRequest, type ModelRequestStore } from "../../record-stores.ts";
import { readRow, readRows } from "../../rows.ts";
import { columnsOf, dataOf } from "../checkpoints/batch.ts";
import type { Threads } from "../checkpoints/threads.ts";
import { asyncCommit, type PostgresDatabase, type Values } from "../database/database.ts";
import { writeFencedIfThere } from "../run-records/fence.ts";

/** Texts that are known to be stored are remembered; all are forgotten when so many have come. */
const textsRemembered = 1000;

const StoredRow = RequestRow.extend({
  text: z.string().nullable(),
  bytes: z.instanceof(Uint8Array).nullable(),
  head_text: z.string().nullable(),
  tools_text: z.string().nullable(),
});
const TextRow = z.object({ hash: z.string(), text: z.string() });
const BeforeRow = z.object({ run_id: z.string(), number: z.number() });

const select = `SELECT model_call_id, node, is_silent, asked_at, head, tools, q.text, q.bytes,
    (SELECT text FROM model_texts WHERE hash = head) AS head_text,
    (SELECT text FROM model_texts WHERE hash = tools) AS tools_text
  FROM model_requests AS q JOIN sessions ON sessions.id = q.session WHERE session_id = $1`;
const newest = "ORDER BY q.id DESC LIMIT 1";
/** Removes one request that is too old, unless it is the last of its node. One more has come, so one is enough. */
const removeAfter = (condition: string, kept: number): string => `DELETE FROM model_requests AS old USING w
  WHERE old.id = (
    SELECT id FROM model_requests WHERE session = w.session ${condition} ORDER BY id DESC LIMIT 1 OFFSET ${kept - 1}
  ) AND (old.node = $6 OR EXISTS (
    SELECT FROM model_requests AS other WHERE other.session = w.session AND other.node = old.node AND other.id > old.id
  ))`;

/** Stores a request whose shared texts are there, or come as pairs behind its own values; see `writeFencedIfThere`. */
function insertStatement(pairs: number): string {
  const places = Array.from({ length: pairs }, (_, at) => `($${13 + 2 * at}, $${14 + 2 * at})`);
  const texts = `t AS (INSERT INTO model_texts (hash, text) VALUES ${places.join(", ")} ON CONFLICT DO NOTHING),`;
  return `${pairs === 0 ? "" : texts}
    w AS (
      INSERT INTO model_requests
        (session, run_id, number, model_call_id, node, is_silent, asked_at, head, tools, text, bytes)
      SELECT a.id, $4, 1 + coalesce((SELECT max(number) FROM model_requests WHERE session = a.id AND run_id = $4), 0),
        $5, $6, $7::int, $8, $9, $10, $11, $12::bytea
      FROM a WHERE ${pairs > 0} OR 2 = (SELECT count(*) FROM model_texts WHERE hash IN ($9, $10))
      RETURNING session, ${asyncCommit}
    ),
    x AS (${removeAfter("AND run_id = $4", callsKept.ofRun)}),
    y AS (${removeAfter("", callsKept.ofSession)})`;
}

/** The requests; each attempt records its own. */
export interface PostgresRequests extends Omit<ModelRequestStore, "record"> {
  /** `ModelRequestStore.record` of an attempt. Throws `conflict` if another attempt has taken over the run. */
  recordOf(of: RunWriter, request: ModelRequest): Promise<void>;
}

/** Whether the request was stored; not where its texts are missing and `shared` does not have them. */
async function record(
  database: PostgresDatabase,
  { of, request, values, shared }: { of: RunWriter; request: ModelRequest; values: Values; shared: SharedText[] },
): Promise<boolean> {
  const pairs = shared.flatMap(({ hash, text }) => [hash, text]);
  const by = { of, sessionId: request.session_id };
  const written = await writeFencedIfThere(database, by, insertStatement(shared.length), [...values, ...pairs]);
  return written === undefined || written.length > 0;
}

/**
 * The requests in PostgreSQL. A request's messages are those of the session, which are stored already: its row refers to
 * them, so that it costs the same however long the session is.
 */
export function createModelRequestStore(database: PostgresDatabase, threads: Threads): PostgresRequests {
  const texts = new SharedTexts();
  const stored = new Set<string>();

  const read = async (session_id: string, condition: string, values: Values): Promise<ModelRequest | undefined> => {
    const [found] = await database.read(`${select} ${condition}`, [session_id, ...values]);
    const row = readRow(StoredRow, "model_requests", found);
    if (row === undefined) return undefined;
    if (row.head_text === null || row.tools_text === null) throw missingText();
    const hashes = hashesIn(row.tools_text);
    const sql = "SELECT hash, text FROM model_texts WHERE hash = ANY($1::text[])";
    const known = hashes.length === 0 ? [] : readRows(TextRow, "model_texts", await database.read(sql, [hashes]));
    const byHash = new Map(known.map(({ hash, text }) => [hash, text]));
    const tools = hashes.map((hash) => {
      const text = byHash.get(hash);
      if (text === undefined) throw missingText();
      return readDefinition(text);
    });
    const value = await threads.codec.decode(session_id, dataOf(row));
    return fromStored(session_id, row, { value, head: row.head_text, tools });
  };

  const recordOne = async (of: RunWriter, request: ModelRequest): Promise<void> => {
    const { session_id, run_id, model_call_id, node, is_silent, asked_at } = request;
    const data = await threads.encodeWhole(session_id, toStored(request));
    const { head, definitions, tools } = texts.of(request);
    const values = [run_id, model_call_id, node, is_silent ? 1 : 0, asked_at, head.hash, tools.hash];
    const isKnown = stored.has(head.hash) && stored.has(tools.hash);
    const recorded = { of, request, values: [...values, ...columnsOf(data)] };
    if (!(isKnown && (await record(database, { ...recorded, shared: [] })))) {
      await record(database, { ...recorded, shared: [head, ...definitions, tools] });
    }
    if (stored.size >= textsRemembered) stored.clear();
    stored.add(head.hash).add(tools.hash);
  };

  return {
    // One after the other: each gets the number after the last one.
    recordOf: (of, request) => database.inOrder(`requests ${request.run_id}`, () => recordOne(of, request)),

    async last(session_id, node) {
      if (node === undefined) return await read(session_id, `AND is_silent = 0 ${newest}`, []);
      return await read(session_id, `AND node = $2 ${newest}`, [node]);
    },

    async calls(session_id, run_id) {
      const sql = `SELECT number, run_id, model_call_id, node, is_silent, asked_at FROM model_requests
        WHERE session = (SELECT id FROM sessions WHERE session_id = $1) AND run_id = $2 ORDER BY number DESC`;
      return readRows(CallRow, "model_requests", await database.read(sql, [session_id, run_id]));
    },

    async call(session_id, run_id, number) {
      const request = await read(session_id, "AND run_id = $2 AND number = $3", [run_id, number]);
      if (request === undefined) return undefined;
      const sql = `SELECT before.run_id, before.number FROM model_requests AS own
        JOIN model_requests AS before ON before.session = own.session AND before.node = own.node AND before.id < own.id
        WHERE own.session = (SELECT id FROM sessions WHERE session_id = $1) AND own.run_id = $2 AND own.number = $3
          AND before.run_id <> '' ORDER BY before.id DESC LIMIT 1`;
      const [before] = await database.read(sql, [session_id, run_id, number]);
      return { request, before: readRow(BeforeRow, "model_requests", before) };
    },
  };
}
