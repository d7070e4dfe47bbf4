import { EventEmitter } from "node:events";
import {
  type McpCall,
  type McpMessage,
  type McpSession,
  mcpSessionsOfOwner,
  type McpStore,
  type McpStream,
} from "../../storage/cluster.ts";
import type { JsonObject } from "../../storage/records.ts";

/** Sessions of all owners. */
const maxSessions = 10_000;
/** The newest messages of a session that are kept. */
const maxMessages = 1_000;

interface StoredSession extends McpSession {
  messages: (McpMessage & { stream: string })[];
}

/** `McpStore` in the memory of the only server of a storage. */
export class McpMemory implements McpStore {
  /** Nothing is written elsewhere. */
  readonly pollInterval = 60_000;
  /** The least recently used one first. */
  readonly #sessions = new Map<string, StoredSession>();
  /** An event for each session. */
  readonly #moved = new EventEmitter().setMaxListeners(0);

  async open(session: McpSession): Promise<void> {
    this.#sessions.set(session.session_id, { ...session, messages: [] });
    const own = [...this.#sessions.values()].filter(({ owner }) => owner === session.owner);
    const tooMany = own.length > mcpSessionsOfOwner ? own[0] : undefined;
    const oldest = tooMany ?? (this.#sessions.size > maxSessions ? this.#sessions.values().next().value : undefined);
    if (oldest !== undefined) await this.end(oldest.session_id);
  }

  async use(sessionId: string, owner: string): Promise<McpSession | undefined> {
    const session = this.#sessions.get(sessionId);
    if (session?.owner !== owner) return undefined;
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, session);
    return session;
  }

  async end(sessionId: string): Promise<void> {
    this.#sessions.delete(sessionId);
    this.#moved.emit(sessionId);
  }

  async begin(stream: McpStream, request: JsonObject): Promise<McpCall> {
    let last = 0;
    this.#append(stream, { number: 0, message: request });
    return {
      request,
      sent: [],
      append: async (message) => {
        last += 1;
        this.#append(stream, { number: last, message });
        return last;
      },
    };
  }

  async takeOver(): Promise<undefined> {
    return undefined;
  }

  async deliver(stream: McpStream, message: JsonObject): Promise<void> {
    const before = await this.read(stream, 0);
    if (before?.length === 0) this.#append(stream, { number: 1, message });
  }

  async read({ session_id, stream }: McpStream, after: number): Promise<McpMessage[] | undefined> {
    const messages = this.#sessions.get(session_id)?.messages;
    return messages?.filter((one) => one.stream === stream && one.number > after);
  }

  watch(sessionId: string, moved: () => void): () => void {
    this.#moved.on(sessionId, moved);
    return () => void this.#moved.off(sessionId, moved);
  }

  /** The limits above are enough for memory. */
  async expire(): Promise<boolean> {
    return false;
  }

  #append({ session_id, stream }: McpStream, { number, message }: McpMessage): void {
    const session = this.#sessions.get(session_id);
    session?.messages.push({ stream, number, message });
    if (session !== undefined && session.messages.length > maxMessages) session.messages.shift();
    this.#moved.emit(session_id);
  }
}
