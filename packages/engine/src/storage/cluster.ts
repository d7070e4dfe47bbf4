import type { StopAction } from "./records.ts";

/** What a server finds at each of its beats. */
export interface Found {
  /** What is asked of runs in its hand. */
  stops: readonly { run_id: string; action: StopAction }[];
  /** Whether runs are in the hand of no server that works. */
  hasLeftOver: boolean;
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
  /** Whether no other server can have taken what is in this one's hand. */
  trusts(): boolean;
  /** Calls back when what was in this server's hand is another one's, or may be soon: all of it ends. There is one listener. */
  onLost(listener: () => void): void;
  /** Calls back about once a second with what has come from other servers. There is one listener. */
  onBeat(listener: (found: Found) => void): void;
}

/** A server beside which no other one can work. */
export const alone: Cluster = {
  id: 1,
  live: 1,
  encounters: 0,
  trusts: () => true,
  onLost: () => undefined,
  onBeat: () => undefined,
};
