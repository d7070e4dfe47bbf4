import type { Times } from "./queues.ts";

/** What a run does, one after the other; times are means, in milliseconds. */
export type Step =
  /** Waits for the model. */
  | { kind: "wait"; ms: number }
  /** Has the server's thread compute. */
  | { kind: "work"; ms: number }
  /** Sends a statement; `disk`: its commit waits for the disk, `path`: it takes its turn in the workspace. */
  | { kind: "statement"; ms: number; bytes: number; disk?: boolean; path?: boolean };

/** Servers, and the database that they share. */
export interface Site {
  servers: number;
  /** Cores of PostgreSQL; where `shared`, of the one machine that has it, all servers and the clients. */
  cores: number;
  isShared?: boolean;
  /** Runs at once of a server, and its connections for statements. */
  slots: number;
  connections: number;
  /** All servers have one workspace. */
  hasOneWorkspace?: boolean;
  disk: { flushMs: number; bytesPerMs: number };
  /** Milliseconds to the database and back. */
  roundTrip: number;
  /** What a beat and a notice cost PostgreSQL beside so many servers; `held`: notices are committed one after the other. */
  beat: { database: number; server: number };
  notice: { database: number; held: number; server: number };
  /** What it costs to read what is new of a run at another server. */
  look: { database: number; server: number };
  /** The share of a server's CPU that its other threads use. */
  helpers: number;
}

/** What is asked of the servers. `followed`: the share of runs that are read at another server, each so often (ms). */
export interface Load {
  script: readonly Step[];
  /** Runs a second in all, which come by chance; or so many from clients, each with one after the other, for so much CPU a run. */
  arrivals: { rate: number } | { total: number; clients: number; ms: number };
  followed: number;
}

/** The result. Shares are of what there is, 1 for all of it. */
export interface Outcome {
  /** Runs that came and that ended in a second. */
  came: number;
  ended: number;
  /** Runs begun and not ended, at the end; and when the last one ended. */
  left: number;
  lastEnd: number;
  /** What a step waits: for its server, and for the database. */
  server: Times;
  database: Times;
  /** From what is new of a run to the notice of it, where readers are elsewhere. A lock that all take makes it longer, but stops none. */
  notified: Times;
  /** How much of each resource is in use. */
  used: Record<Resource, number>;
  /** Statements a second, and megabytes of log. */
  statements: number;
  megabytes: number;
}

/** What can be the first to be used up, in words. */
export const resources = {
  server: "the servers' cores",
  slots: "slots of the servers",
  connections: "connections of the servers",
  cores: "PostgreSQL's CPU",
  disk: "the log's disk",
  workspace: "turns in the workspace",
} as const;
export type Resource = keyof typeof resources;

/** The resource that is used most. */
export function bottleneck({ used }: Pick<Outcome, "used">): Resource {
  const names = Object.keys(resources) as Resource[]; // The keys of that object.
  return names.reduce((most, name) => (used[name] > used[most] ? name : most));
}
