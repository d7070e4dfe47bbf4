import { z } from "zod";
import { Change } from "./changes.ts";
import type { StopAction } from "./records.ts";

/** What a server finds at each of its beats. */
export interface Found {
  /** What is asked of runs in its hand. */
  stops: readonly { run_id: string; action: StopAction }[];
  /** Whether runs are in the hand of no server that works. */
  hasLeftOver: boolean;
}

/** A folder of work that a server has mounted: its id, and the graphs whose runs use it. */
export interface Mounted {
  workspace: string;
  graphs: readonly string[];
}

/**
 * The servers that work on one storage, as one of them sees them. Each run that is not over is in the hand of one of them, or
 * of none; see `RunStore.take`.
 */
export interface Cluster {
  /** The number of this server: new at each start, and after it was lost. */
  readonly id: number;
  /** How many servers work on the storage, this one included. Those that are silent count until they are known to be gone. */
  readonly live: number;
  /** Changes whenever another server was there: what is known of a time when this one was alone holds no more. */
  readonly encounters: number;
  /**
   * Says which graphs this server serves, until it says others: it takes up no run of another graph but to end it, and none
   * that works in another folder than the one it has mounted. What it admits of the graphs that use that works there. Gives since
   * when (ISO date) each is known to be served by any server; nothing where none but this one can serve it.
   */
  serves(graphs: readonly string[], mounted?: Mounted): Promise<ReadonlyMap<string, string>>;
  /** Whether a server that works serves a graph. */
  isServed(graph: string): Promise<boolean>;
  /** The id of the folder that this server has mounted; nothing where it did not say one. */
  readonly workspace: string | undefined;
  /** Those of some runs which work in a folder that no server has mounted, and the ids of the folders. */
  unmounted(runIds: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /**
   * Whether this server does what has to be done once for all of them, now and then: of those that work it came first. For a
   * moment there may be none that does, or two: what is done so has to be safe twice.
   */
  readonly leads: boolean;
  /** Whether no other server can have taken what is in this one's hand. */
  trusts(): boolean;
  /** Why it cannot take runs: it does not hold its lease, or a later version has changed the database; nothing where it can. */
  readonly problem: string | undefined;
  /** Calls back once, when a later version has made of the database what this one cannot use. There is one listener. */
  onOutdated(listener: () => void): void;
  /** Calls back when what was in this server's hand is another one's, or may be soon: all of it ends. There is one listener. */
  onLost(listener: () => void): void;
  /** Calls back about once a second, and when another server says so, with what has come from others. There is one listener. */
  onBeat(listener: (found: Found) => void): void;
}

/** Locks of paths in the workspace between the servers that have it mounted; each has its own among its calls besides. */
export interface PathLocks {
  /**
   * Resolves when no other server works on one of the paths, on a folder above or on anything below; what is given frees
   * them, and never throws. Paths are relative to the workspace, in one form of a name, and begin and end with a slash.
   * Throws `cancelled` when the signal is aborted while it waits.
   */
  hold(paths: readonly string[], signal: AbortSignal): Promise<() => Promise<void>>;
}

/** A file of the data folder, as the servers of one storage share it: no text where it was removed. */
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
  /** Makes it the next version after `version`, 0 for none; false where there is another one since. */
  put(file: SharedFile): Promise<boolean>;
}

/** A server beside which no other one can work. */
export const alone: Cluster = {
  id: 1,
  live: 1,
  encounters: 0,
  leads: true,
  serves: async () => new Map(),
  isServed: async () => false,
  workspace: undefined,
  unmounted: async () => new Map(),
  trusts: () => true,
  problem: undefined,
  onOutdated: () => undefined,
  onLost: () => undefined,
  onBeat: () => undefined,
};

/**
 * What servers on one database tell each other. It says where to look, by ids: what is so is in the database, and a hint
 * can be lost. `follow` and `watch`: readers at the sender want to hear of a run, or of a session, for some seconds.
 * `moved`: there may be more of a run. `read`: one of them has read a run to its end. `begun` and `stopped`: a run of a session has begun, or has ended without that.
 * `due`: something of a kind has to be done at a date. `look`: a beat may find something, a stop or what no server has in hand.
 * `free`: what held the next run of a session back has ended. `news`: what has happened in a session outside of its runs.
 * `live`: the server at which a run of a session works is to say what it is at, which it does by `lives`.
 * `changes`: readers at the sender want to hear of all changes, for some seconds; `changed` is one, and after `missed` there
 * may be others. `joined`: the sender hears from now on, and has not heard what was asked before. `files`: a shared file is new.
 * `unlocked`: paths of a workspace are free again.
 */
export const Hint = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["follow", "moved", "read"]), run_id: z.string() }),
  z.object({ type: z.literal("watch"), session_id: z.string() }),
  z.object({ type: z.enum(["begun", "stopped"]), session_id: z.string(), run_id: z.string() }),
  z.object({ type: z.enum(["look", "changes", "missed", "joined", "files", "unlocked"]) }),
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
  z.object({ type: z.literal("free"), session_id: z.string() }),
  z.object({ type: z.literal("live"), session_id: z.string(), ask: z.string() }),
  z.object({ type: z.literal("lives"), ask: z.string(), part: z.int(), parts: z.int(), text: z.string() }),
  z.object({ type: z.literal("due"), what: z.enum(["crons", "items", "ttls"]), date: z.string() }),
]);
export type Hint = z.infer<typeof Hint>;

/** How servers tell each other something. */
export interface Hints {
  /** Whether there can be other servers. */
  readonly isShared: boolean;
  /** Whether there are some now. */
  readonly hasOthers: boolean;
  /** Whether what they tell arrives; else they are followed by looking. */
  readonly listens: boolean;
  /** Tells the server of a number, or all others, soon; false where that is too long to be told. Never throws. */
  hint(to: number | "all", hint: Hint): boolean;
  /** Calls back with what the server of a number tells. */
  onHint(tell: (hint: Hint, from: number) => void): void;
}

/** The hints of a server that is the only one. */
export const noHints: Hints = {
  isShared: false,
  listens: false,
  hasOthers: false,
  hint: () => true,
  onHint: () => undefined,
};
