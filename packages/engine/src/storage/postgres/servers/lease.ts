import { setTimeout as sleep } from "node:timers/promises";
import { resetClusterTime, syncClusterTime } from "../../../concurrency/cluster-time.ts";
import { AppError } from "../../../errors/errors.ts";
import type { Cluster, HeartbeatResult } from "../../cluster.ts";
import { parseRow, readRows } from "../../rows.ts";
import { PostgresDatabase, type Values } from "../database/database.ts";
import { channelOf, encodeNotification } from "../notifications/notification-queue.ts";
import {
  requestHeartbeats,
  HeartbeatRow,
  IdRow,
  insertServer,
  LeaseRow,
  selectOtherServers,
  deleteExpiredServers,
  renewLease,
  findUnacknowledged,
  UnacknowledgedRow,
} from "./lease-statements.ts";
import { serversOfProcess, removeEndedServers, removeServer } from "./ended-servers.ts";
import { ServerCapabilities } from "./capabilities.ts";
import { thisProcess } from "./process-identity.ts";
import { IntervalWatch, isLeaseValid, type ClockReading, readClocks } from "./lease-validity.ts";

/** Default seconds without a heartbeat before other servers take over the runs of a server. */
const defaultLease = 5;
/** Milliseconds between two heartbeats, and by which this server treats its lease as expired early. */
const [heartbeatInterval, safetyMargin] = [1_000, 1_000];
/** Milliseconds between two requested heartbeats, and from the expiry of a lease to the heartbeat that detects it. */
const [requestedInterval, expiryDelay] = [20, 10];
/** Milliseconds that `confirm` waits for a valid lease. */
const leaseTimeout = 60_000;

/**
 * The lease of a server on its runs: one row, renewed by the clock of the database. Other servers take over the runs of a
 * server whose lease has expired; that server then abandons them and joins again under a new id. The heartbeat shares the
 * event loop with all other work on purpose: a blocked process must lose its runs.
 */
export class ServerLease implements Cluster {
  readonly #database: PostgresDatabase;
  readonly #seconds: number;
  #id = 0;
  #serverCount = 1;
  #isLeader = false;
  #peerEpoch = 0;
  /** When the last successful renewal was sent, and the first one of the current unbroken series. */
  #renewedAt: ClockReading = readClocks();
  #validSince = this.#renewedAt;
  #timer: NodeJS.Timeout | undefined;
  #renewing: Promise<void> | undefined;
  /** Which runs this server can execute. */
  readonly capabilities: ServerCapabilities;
  #soonTimer: NodeJS.Timeout | undefined;
  /** Fires when the next lease of another server expires. */
  #expiryTimer: NodeJS.Timeout | undefined;
  #requestedAt = -Infinity;
  #hasLeft = false;
  /** The earlier servers and the expiry of their leases, until each of them knows of this one. */
  #predecessors: Values | undefined;
  /** Whether other servers may have taken over its runs. It joins again once the database answers. */
  #isLost = false;
  /** Whether the process was blocked or frozen since the last renewal. */
  readonly #interval = new IntervalWatch(heartbeatInterval);
  #onLeaseLost: () => void = () => undefined;
  #onHeartbeat: (found: HeartbeatResult) => void = () => undefined;
  #onRunsOrphaned: () => void = () => undefined;
  #onOutdated: () => void = () => undefined;
  readonly #schema: number;
  /** A later version has made a schema that this one cannot use. */
  #isOutdated = false;
  /** Resolves with the next heartbeat. */
  #nextHeartbeat = Promise.withResolvers<void>();

  private constructor(url: string, seconds: number, schema: number, codeVersion?: string) {
    this.#seconds = seconds;
    this.#schema = schema;
    // A connection of its own. The timeout leaves time for a second attempt before the lease expires.
    this.#database = new PostgresDatabase(url, { patience: (seconds * 1_000 - safetyMargin) / 2, connections: 1 });
    this.capabilities = new ServerCapabilities(this.#database, codeVersion);
  }

  /**
   * Joins the servers on a database. Resolves when all of them know of this one: until then an earlier server may still
   * assume that it is alone. `schema`: the newest that this version knows. `version`: that of the code.
   */
  static async join(url: string, seconds = defaultLease, schema = Infinity, version?: string): Promise<ServerLease> {
    const lease = new ServerLease(url, seconds, schema, version);
    try {
      await lease.#join();
      const tick = (): void => (lease.#interval.fired(), void lease.#heartbeat());
      lease.#timer = setInterval(tick, heartbeatInterval).unref();
      while (!(await lease.#isAcknowledged())) await sleep(heartbeatInterval / 20);
      await lease.#heartbeat();
      return lease;
    } catch (error) {
      await lease.leave();
      throw error;
    }
  }

  get id(): number {
    return this.#id;
  }

  /** Without a valid lease there may be other servers that it does not know of. */
  get serverCount(): number {
    return this.holdsLease() ? this.#serverCount : Math.max(2, this.#serverCount);
  }

  get peerEpoch(): number {
    return this.#peerEpoch;
  }

  get isLeader(): boolean {
    return this.#isLeader && this.holdsLease();
  }

  holdsLease(): boolean {
    return !this.#isLost && this.#predecessors === undefined && this.#isValid(this.#renewedAt);
  }

  /** Resolves when the other servers know of this one, which is at once with a valid lease; also during an outage. */
  async acknowledged(): Promise<void> {
    if (this.holdsLease()) return;
    await this.#heartbeat();
    while (this.#predecessors !== undefined && this.#isValid(this.#renewedAt)) await this.#nextHeartbeat.promise;
  }

  get problem(): string | undefined {
    if (this.#isOutdated) return "A later version of Millrace has changed the database; start that version here.";
    return this.holdsLease() ? undefined : "The database has not renewed the lease of this server.";
  }

  onOutdated(listener: () => void): void {
    this.#onOutdated = listener;
  }

  onLeaseLost(listener: () => void): void {
    this.#onLeaseLost = listener;
  }

  onHeartbeat(listener: (found: HeartbeatResult) => void): void {
    this.#onHeartbeat = listener;
  }

  get workspace(): string | undefined {
    return this.capabilities.workspace;
  }

  readonly announceGraphs: Cluster["announceGraphs"] = (...given) => this.capabilities.announce(this.#id, ...given);
  readonly isServed: Cluster["isServed"] = (graph) => this.capabilities.isServed(graph);
  readonly unmountedWorkspaces: Cluster["unmountedWorkspaces"] = (runIds) => this.capabilities.unmounted(runIds);

  /** Called when runs have just lost their owner. There is one listener. */
  onRunsOrphaned(listener: () => void): void {
    this.#onRunsOrphaned = listener;
  }

  /** Schedules a heartbeat ahead of its interval. */
  heartbeatSoon(): void {
    if (this.#soonTimer !== undefined || this.#hasLeft) return;
    const wait = Math.max(0, this.#requestedAt + requestedInterval - performance.now());
    const beat = async (): Promise<void> => {
      // A heartbeat in flight may have been sent before the change.
      await this.#renewing;
      this.#soonTimer = undefined;
      this.#requestedAt = performance.now();
      if (!this.#hasLeft) await this.#heartbeat();
    };
    this.#soonTimer = setTimeout(() => void beat(), wait).unref();
  }

  /**
   * Resolves when the server certainly still holds its lease under this id, which is at once except during an outage. Throws
   * `conflict` when it has lost it.
   */
  async confirm(id: number): Promise<void> {
    const until = performance.now() + leaseTimeout;
    while (id !== this.#id || !this.holdsLease()) {
      if (id !== this.#id) {
        throw new AppError("conflict", "This server was silent for so long that another one goes on with its runs.");
      }
      if (performance.now() > until) {
        throw new AppError("storage_unavailable", `PostgreSQL at ${this.#database.place} does not answer.`, {
          suggestion: "Check that PostgreSQL runs at the address in MILLRACE_DATABASE.",
          recoverable: true,
        });
      }
      await this.#nextHeartbeat.promise;
    }
  }

  /** Ends the lease, and closes its connection. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    clearInterval(this.#timer);
    clearTimeout(this.#soonTimer);
    clearTimeout(this.#expiryTimer);
    await this.#renewing;
    // Without PostgreSQL the lease expires by itself; the server still has to close the rest.
    await removeServer(this.#database, this.#id).catch(() => undefined);
    this.#onRunsOrphaned();
    if (serversOfProcess.size === 0) resetClusterTime();
    await this.#database.close();
  }

  async #join(): Promise<void> {
    const sent = readClocks();
    const { host, process } = thisProcess();
    const values = [host, process, this.#seconds, ...this.capabilities.values];
    const [row] = await this.#database.rows(insertServer, values);
    this.#id = parseRow(IdRow, "servers", row).id;
    serversOfProcess.add(this.#id);
    this.#renewedAt = this.#validSince = sent;
    await removeEndedServers(this.#database);
    const others = readRows(LeaseRow, "servers", await this.#database.rows(selectOtherServers, [this.#id]));
    this.#predecessors = [others.map(({ id }) => id), others.map(({ until }) => until)];
  }

  /** Whether every earlier server has renewed its lease since, or has expired. Asks the others for a heartbeat. */
  async #isAcknowledged(): Promise<boolean> {
    if (this.#predecessors === undefined) return true;
    const [row] = await this.#database.rows(findUnacknowledged, this.#predecessors);
    if (!parseRow(UnacknowledgedRow, "servers", row).waits) this.#predecessors = undefined;
    else
      await this.#database.rows(requestHeartbeats, [channelOf("all"), encodeNotification(this.#id, { type: "look" })]);
    return this.#predecessors === undefined;
  }

  #heartbeat(): Promise<void> {
    // Other servers may take over its runs from now on. The wall clock does not count here: it may have been set.
    if (this.#serverCount > 1 && !this.#isValid(this.#renewedAt, { ...readClocks(), wall: this.#renewedAt.wall }))
      this.#loseLease();
    return (this.#renewing ??= this.#renew());
  }

  /** Never throws: in an outage the lease expires by itself. */
  async #renew(): Promise<void> {
    const sent = readClocks();
    try {
      const [row] = await this.#database.rows(renewLease, [this.#id, this.#seconds, this.capabilities.graphs]);
      const found = parseRow(HeartbeatRow, "servers", row);
      const { is_alive, live, silent, min_compatible, has_left_over, next_end, stops } = found;
      syncClusterTime(found.at, sent.monotonic);
      this.#serverCount = live;
      this.#isLeader = found.leads && !this.#isOutdated;
      if (live > 1) this.#peerEpoch += 1;
      if (!is_alive || this.#isLost) return await this.#rejoin();
      if (!this.#isValid(this.#renewedAt)) this.#validSince = sent;
      this.#renewedAt = sent;
      this.#interval.wasLate = false;
      if (!(await this.#isAcknowledged())) this.heartbeatSoon();
      // After an outage all leases have expired: each server first gets the time to renew its own.
      if (silent > 0 && !this.#isValid(this.#validSince)) await this.#removeExpired();
      // The runs of an expired server need not wait for the next interval.
      if (next_end !== null && next_end >= 0 && next_end < heartbeatInterval) {
        clearTimeout(this.#expiryTimer);
        this.#expiryTimer = setTimeout(() => this.heartbeatSoon(), next_end + expiryDelay).unref();
      }
      if (min_compatible > this.#schema && !this.#isOutdated) {
        this.#isOutdated = true;
        this.#onOutdated();
      }
      this.#onHeartbeat({ stops, hasOrphanedRuns: has_left_over });
    } catch {
      // The next heartbeat tries again.
    } finally {
      this.#renewing = undefined;
      this.#nextHeartbeat.resolve();
      this.#nextHeartbeat = Promise.withResolvers();
    }
  }

  async #removeExpired(): Promise<void> {
    if ((await this.#database.change(deleteExpiredServers, [this.#id])) === 0) return;
    this.#onRunsOrphaned();
    this.heartbeatSoon();
  }

  /** The runs of this server may have other owners now. */
  #loseLease(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#onLeaseLost();
  }

  async #rejoin(): Promise<void> {
    this.#loseLease();
    // An outage of the database is no crash of the runs. What blocks the process may be one of them, and counts as one.
    await removeServer(this.#database, this.#id, { releasesRuns: !this.#interval.wasLate });
    this.#onRunsOrphaned();
    await this.#join();
    this.#isLost = this.#interval.wasLate = false;
    this.heartbeatSoon();
  }

  #isValid(sent: ClockReading, at = readClocks()): boolean {
    return isLeaseValid(sent, at, { ttl: this.#seconds * 1_000, margin: safetyMargin });
  }
}
