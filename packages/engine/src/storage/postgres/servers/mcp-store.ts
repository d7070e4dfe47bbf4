import { EventEmitter } from "node:events";
import { z } from "zod";
import {
  type McpCall,
  type McpMessage,
  type McpSession,
  mcpSessionsOfOwner,
  type McpStore,
  type McpStream,
  type PeerNotifications,
} from "../../cluster.ts";
import { JsonObject } from "../../records.ts";
import { json, readRow, readRows } from "../../rows.ts";
import { asyncCommit, type PostgresDatabase } from "../database/database.ts";

/** Milliseconds between two looks for messages with notifications, and without. */
const pollIntervals = { notified: 5_000, silent: 250 };

const SessionRow = z.object({ session_id: z.string(), owner: z.string(), capabilities: json(JsonObject) });
const EndedRow = z.object({ session_id: z.string() });
const RequestRow = z.object({ message: json(JsonObject) });
const MessageRow = z.object({ number: z.number(), message: json(JsonObject) });
/** A session without messages gives one row of nulls. */
const ReadRow = z.union([MessageRow, z.object({ number: z.null() })]);

const insertSession = "INSERT INTO mcp_sessions (session_id, owner, capabilities) VALUES ($1, $2, $3)";
const deleteLeastUsed = `DELETE FROM mcp_sessions WHERE session_id IN (
    SELECT session_id FROM mcp_sessions WHERE owner = $1 ORDER BY used_at DESC, session_id DESC OFFSET $2
  ) RETURNING session_id`;
const useSession = `UPDATE mcp_sessions SET used_at = now() WHERE session_id = $1 AND owner = $2
  RETURNING session_id, owner, capabilities, ${asyncCommit}`;
const insertMessage = `INSERT INTO mcp_messages (session_id, stream, number, message, server)
  SELECT session_id, $2, $3::int, $4, $5::bigint FROM mcp_sessions WHERE session_id = $1 FOR KEY SHARE
  ON CONFLICT DO NOTHING`;
/** The lock makes a server that takes over wait: it sees each message of the one before, or that one writes none. */
const appendMessage = `WITH own AS (
    SELECT FROM mcp_messages WHERE session_id = $1 AND stream = $2 AND number = 0 AND server = $5 FOR SHARE
  )
  INSERT INTO mcp_messages (session_id, stream, number, message) SELECT $1, $2, $3::int, $4 FROM own ON CONFLICT DO NOTHING`;
const takeCall = `UPDATE mcp_messages SET server = $3 WHERE session_id = $1 AND stream = $2 AND number = 0
  AND NOT EXISTS (SELECT FROM servers WHERE id = server) RETURNING message`;
const readMessages = `SELECT number, message FROM mcp_sessions LEFT JOIN mcp_messages
    ON mcp_messages.session_id = mcp_sessions.session_id AND stream = $2 AND number > $3
  WHERE mcp_sessions.session_id = $1 ORDER BY number`;

const expireSessions = `DELETE FROM mcp_sessions WHERE session_id IN (
    SELECT session_id FROM mcp_sessions WHERE used_at < now() - interval '7 days' LIMIT 100
  )`;
const expireMessages = `DELETE FROM mcp_messages WHERE (session_id, stream, number) IN (
    SELECT session_id, stream, number FROM mcp_messages WHERE written_at < now() - interval '1 day' LIMIT 1000
  )`;

/** `McpStore` for the servers of one database. */
export class PostgresMcpStore implements McpStore {
  readonly #database: PostgresDatabase;
  readonly #server: { readonly id: number };
  readonly #notifications: PeerNotifications;
  /** An event for each session. */
  readonly #moved = new EventEmitter().setMaxListeners(0);

  constructor(database: PostgresDatabase, server: { readonly id: number }, notifications: PeerNotifications) {
    this.#database = database;
    this.#server = server;
    this.#notifications = notifications;
    notifications.onNotification((notification) => {
      if (notification.type === "mcp") this.#moved.emit(notification.session_id);
    });
  }

  get pollInterval(): number {
    return this.#notifications.isListening ? pollIntervals.notified : pollIntervals.silent;
  }

  async open({ session_id, owner, capabilities }: McpSession): Promise<void> {
    await this.#database.change(insertSession, [session_id, owner, JSON.stringify(capabilities)]);
    const ended = await this.#database.rows(deleteLeastUsed, [owner, mcpSessionsOfOwner]);
    for (const row of readRows(EndedRow, "mcp_sessions", ended)) this.#notify(row.session_id);
  }

  async use(sessionId: string, owner: string): Promise<McpSession | undefined> {
    const [row] = await this.#database.read(useSession, [sessionId, owner]);
    return readRow(SessionRow, "mcp_sessions", row);
  }

  async end(sessionId: string): Promise<void> {
    await this.#database.change("DELETE FROM mcp_sessions WHERE session_id = $1", [sessionId]);
    this.#notify(sessionId);
  }

  async begin(stream: McpStream, request: JsonObject): Promise<McpCall> {
    const { id } = this.#server;
    await this.#insert(stream, request, { number: 0, server: id });
    return this.#callOf(stream, { request, server: id, sent: [] });
  }

  async takeOver(stream: McpStream): Promise<McpCall | undefined> {
    const { id } = this.#server;
    const [row] = await this.#database.rows(takeCall, [stream.session_id, stream.stream, id]);
    const request = readRow(RequestRow, "mcp_messages", row)?.message;
    if (request === undefined) return undefined;
    return this.#callOf(stream, { request, server: id, sent: (await this.read(stream, 0)) ?? [] });
  }

  async deliver(stream: McpStream, message: JsonObject): Promise<void> {
    await this.#insert(stream, message, { number: 1, server: null });
    this.#notify(stream.session_id);
  }

  async read({ session_id, stream }: McpStream, after: number): Promise<McpMessage[] | undefined> {
    const rows = readRows(
      ReadRow,
      "mcp_messages",
      await this.#database.read(readMessages, [session_id, stream, after]),
    );
    return rows.length === 0 ? undefined : rows.filter((row) => row.number !== null);
  }

  watch(sessionId: string, moved: () => void): () => void {
    this.#moved.on(sessionId, moved);
    return () => void this.#moved.off(sessionId, moved);
  }

  async expire(): Promise<boolean> {
    return (await this.#database.change(expireSessions)) + (await this.#database.change(expireMessages)) > 0;
  }

  /** The same message again changes nothing, so that a lost answer of the database does no harm. */
  async #insert(
    { session_id, stream }: McpStream,
    message: JsonObject,
    { number, server }: { number: number; server: number | null },
  ): Promise<void> {
    const values = [session_id, stream, number, JSON.stringify(message), server];
    await this.#database.once(() => this.#database.change(insertMessage, values));
  }

  #callOf({ session_id, stream }: McpStream, call: Pick<McpCall, "request" | "sent"> & { server: number }): McpCall {
    const { server, ...rest } = call;
    let last = rest.sent.at(-1)?.number ?? 0;
    return {
      ...rest,
      append: async (message) => {
        const number = (last += 1);
        const values = [session_id, stream, number, JSON.stringify(message), server];
        // As a run, it outlasts an outage.
        await this.#database.once(() => this.#database.change(appendMessage, values), true);
        // Readers at other servers look by themselves: few clients come back, and calls say much.
        this.#moved.emit(session_id);
        return number;
      },
    };
  }

  #notify(session_id: string): void {
    this.#moved.emit(session_id);
    this.#notifications.send("all", { type: "mcp", session_id });
  }
}
