import { z } from "zod";
import { Change } from "./changes.ts";
import type { JsonObject, StopAction } from "./records.ts";

/** What a heartbeat of a server returns. */
export interface HeartbeatResult {
  /** Stop requests for runs that this server owns. */
  stops: readonly { run_id: string; action: StopAction }[];
  /** Whether there are runs without a live owner. */
  hasOrphanedRuns: boolean;
}

/** A workspace that a server has mounted: its id, and the graphs whose runs use it. */
export interface MountedWorkspace {
  workspace: string;
  graphs: readonly string[];
}

/**
 * The servers on one storage, as one of them sees them. Every unfinished run has one of them as its owner, or none; see
 * `RunStore.acquire`.
 */
export interface Cluster {
  /** The id of this server: a new one at each start, and after a lost lease. */
  readonly id: number;
  /** How many servers share the storage, this one included. A silent server counts until its lease has expired. */
  readonly serverCount: number;
  /** Changes whenever other servers were present: what was cached while this one was alone is then stale. */
  readonly peerEpoch: number;
  /**
   * Announces the graphs and the workspace of this server, and replaces the previous announcement. The server takes over no
   * run of another graph, except to end it, and no run in another workspace. Returns since when (ISO date) each graph has been
   * served by any server; empty where there can be no other server.
   */
  announceGraphs(graphs: readonly string[], mounted?: MountedWorkspace): Promise<ReadonlyMap<string, string>>;
  /** Whether a live server serves a graph. */
  isServed(graph: string): Promise<boolean>;
  /** The id of the workspace that this server has announced. */
  readonly workspace: string | undefined;
  /** The given runs whose workspace no server has mounted, each with the id of that workspace. */
  unmountedWorkspaces(runIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Whether this server runs the periodic jobs of all servers: it is the oldest live one. For a moment there may be no leader,
   * or two, so those jobs must be idempotent.
   */
  readonly isLeader: boolean;
  /** Whether the lease is valid: no other server can have taken over the runs of this one. */
  holdsLease(): boolean;
  /** Why this server cannot execute runs: its lease is not valid, or a later version has changed the schema. */
  readonly problem: string | undefined;
  /** Called once, when a later version has made the schema incompatible with this one. There is one listener. */
  onOutdated(listener: () => void): void;
  /** Called when other servers have taken over the runs of this one, or may do so: it must abandon them. There is one listener. */
  onLeaseLost(listener: () => void): void;
  /** Called with the result of each heartbeat: about once a second, and on request of another server. There is one listener. */
  onHeartbeat(listener: (found: HeartbeatResult) => void): void;
}

/** Locks of workspace paths between the servers that have it mounted. Within a server, calls have locks of their own. */
export interface PathLocks {
  /**
   * Resolves when no other server holds a lock on one of the paths, on a parent folder or on anything below. Returns the
   * function that releases the locks, which never throws. Paths are relative to the workspace, normalised, and begin and end
   * with a slash. Throws `cancelled` when the signal is aborted while it waits.
   */
  acquire(paths: readonly string[], signal: AbortSignal): Promise<() => Promise<void>>;
}

/** A file of the data folder that the servers of one storage share; `text` is null once it is removed. */
export interface SharedFile {
  name: string;
  text: string | null;
  /** Counts its changes, from 1. */
  version: number;
}

/** The files that the servers of one storage share. */
export interface SharedFiles {
  versions(): Promise<ReadonlyMap<string, number>>;
  get(name: string): Promise<SharedFile | undefined>;
  /** Compare and set: stores the file as the successor of `version` (0: none). False when that is no longer the newest. */
  put(file: SharedFile): Promise<boolean>;
  /**
   * Takes what the other servers have changed, and gives them what has changed here; otherwise both happen within a second.
   * Absent without shared files. Throws what the storage throws.
   */
  exchange?: () => Promise<void>;
}

/** The session of a client of the Model Context Protocol. */
export interface McpSession {
  session_id: string;
  owner: string;
  /** What the client can do, as it said when it initialized. */
  capabilities: JsonObject;
}

/** Sessions of an owner. With one more, the least recently used one is removed. */
export const mcpSessionsOfOwner = 100;

/** Messages of a session in their order: those of one call to its client, or one message of the client to a call. */
export interface McpStream {
  session_id: string;
  stream: string;
}

/** A message of a stream by its number: the request of a call has 0, what follows is counted from 1. */
export interface McpMessage {
  number: number;
  message: JsonObject;
}

/** A call whose messages this server writes. */
export interface McpCall {
  request: JsonObject;
  /** What another server has written before this one took over. */
  sent: readonly McpMessage[];
  /** Stores the next message, unless another server has taken over meanwhile, and returns its number. */
  append(message: JsonObject): Promise<number>;
}

/** The sessions of MCP clients, and the messages that another server than the one of a call reads. */
export interface McpStore {
  /** Milliseconds after which a reader of a stream has to look by itself. */
  readonly pollInterval: number;
  open(session: McpSession): Promise<void>;
  /** The session of an owner, which is then the most recently used one. */
  use(sessionId: string, owner: string): Promise<McpSession | undefined>;
  /** Removes a session with its messages. */
  end(sessionId: string): Promise<void>;
  begin(stream: McpStream, request: JsonObject): Promise<McpCall>;
  /** A call whose server has ended: this one writes its messages from now on. `undefined` for any other. */
  takeOver(stream: McpStream): Promise<McpCall | undefined>;
  /** Stores a message of the client for a call, at whichever server. Only the first one of a stream counts. */
  deliver(stream: McpStream, message: JsonObject): Promise<void>;
  /** The messages with a number above `after`; `undefined` if the session has ended. */
  read(stream: McpStream, after: number): Promise<McpMessage[] | undefined>;
  /** Calls `moved` when streams of a session may have new messages, or it has ended. Returns the function that ends that. */
  watch(sessionId: string, moved: () => void): () => void;
  /** Removes some of the sessions that were not used for a week, and of the messages older than a day. False when none is left. */
  expire(): Promise<boolean>;
}

/** The cluster of a storage that only one server can use. */
export const singleServer: Cluster = {
  id: 1,
  serverCount: 1,
  peerEpoch: 0,
  isLeader: true,
  announceGraphs: async () => new Map(),
  isServed: async () => false,
  workspace: undefined,
  unmountedWorkspaces: async () => new Map(),
  holdsLease: () => true,
  problem: undefined,
  onOutdated: () => undefined,
  onLeaseLost: () => undefined,
  onHeartbeat: () => undefined,
};

/**
 * A message between the servers on one database. It carries ids only, since the state is in the database, and it may be lost.
 *
 * - `follow`, `watch`: the sender subscribes to a run or a session for some seconds.
 * - `moved`: a followed run may have new events. `read`: a reader has reached the end of a run.
 * - `begun`, `stopped`: a run of a watched session has started, or has ended before it started.
 * - `due`: a cron, an item or a TTL is due at a date.
 * - `look`: send a heartbeat now: there may be a stop request or an orphaned run.
 * - `free`: the next run of a session may start. `removed`: a session is about to be removed.
 * - `news`: a session has changed outside of its runs.
 * - `live`: requests the live state of a session's current run; `lives` is a part of the answer.
 * - `changes`: the sender subscribes to all changes for some seconds. `changed` is one of them; `missed`: read everything again.
 * - `mcp`: the client of an MCP session has sent a message, or has ended the session.
 * - `current`: a namespace may have another current session.
 * - `agent`: what the agent watches outside of the database has changed, by its topic.
 * - `joined`: the sender has just started to listen. `files`: a shared file has a new version. `unlocked`: path locks were released.
 */
export const PeerNotification = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["follow", "moved", "read"]), run_id: z.string() }),
  z.object({ type: z.literal("watch"), session_id: z.string() }),
  z.object({ type: z.enum(["begun", "stopped"]), session_id: z.string(), run_id: z.string() }),
  z.object({ type: z.enum(["look", "changes", "missed", "joined", "files", "unlocked", "current"]) }),
  z.object({ type: z.literal("changed"), change: Change }),
  z.object({
    type: z.literal("news"),
    session_id: z.string(),
    news: z.object({
      type: z.literal("operation_undone"),
      operation_id: z.string(),
      path: z.string(),
      content: z.string().optional(),
      time: z.string(),
    }),
  }),
  z.object({ type: z.enum(["free", "removed", "mcp"]), session_id: z.string() }),
  z.object({ type: z.literal("live"), session_id: z.string(), ask: z.string() }),
  z.object({ type: z.literal("lives"), ask: z.string(), part: z.int(), parts: z.int(), text: z.string() }),
  z.object({ type: z.literal("agent"), topic: z.string() }),
  z.object({ type: z.literal("due"), what: z.enum(["crons", "items", "ttls"]), date: z.string() }),
]);
export type PeerNotification = z.infer<typeof PeerNotification>;

/** Notifications between the servers on one database. */
export interface PeerNotifications {
  /** Whether other servers are possible. */
  readonly isShared: boolean;
  /** Whether there are other servers now. */
  readonly hasPeers: boolean;
  /** Whether their notifications arrive; otherwise callers have to poll. */
  readonly isListening: boolean;
  /** Queues a notification for one server, by its id, or for all others. False when it is too long. Never throws. */
  send(to: number | "all", notification: PeerNotification): boolean;
  /** Adds a listener, which gets each notification and the id of its sender. */
  onNotification(listener: (notification: PeerNotification, from: number) => void): void;
}

/** The notifications of a storage that only one server can use. */
export const noNotifications: PeerNotifications = {
  isShared: false,
  isListening: false,
  hasPeers: false,
  send: () => true,
  onNotification: () => undefined,
};
