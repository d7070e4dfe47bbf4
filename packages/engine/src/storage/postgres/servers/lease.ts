import { setTimeout as sleep } from "node:timers/promises";
import { forgetCommonTime, heardCommonTime } from "../../../concurrency/common-time.ts";
import { AppError } from "../../../errors/errors.ts";
import type { Cluster, Found } from "../../cluster.ts";
import { parseRow, readRows } from "../../rows.ts";
import { PostgresDatabase, type Values } from "../database/database.ts";
import { channelOf, noticeOf } from "../hints/notices.ts";
import {
  askToBeat,
  BeatRow,
  IdRow,
  join,
  LeaseRow,
  othersOf,
  removeSilent,
  renew,
  unheard,
  WaitRow,
} from "./lease-statements.ts";
import { ofProcess, removeEnded } from "./ended-servers.ts";
import { Offers } from "./offers.ts";
import { thisProcess } from "./place-of-process.ts";
import { isTrusted, type Moment, now } from "./trust.ts";

/** Seconds that a server may be silent before others take what it works on, where nothing else is said. */
const usualLease = 5;
/** Milliseconds between two beats, and by which trust ends before the lease does. */
const [pause, margin] = [1_000, 1_000];
/** Milliseconds between two beats that others ask for, and after the end of a lease to the beat that finds it. */
const [lookPause, afterEnd] = [20, 10];
/** Milliseconds that what needs trust waits for it. */
const patience = 60_000;

/**
 * The lease of a server on what it works on: one row, which it renews by the clock of the database. Other servers take
 * what a silent one has; it finds itself gone then, ends all of it, and goes on under a new number. The beat runs among
 * everything else on purpose: a process that does nothing for so long must not keep its runs.
 */
export class ServerLease implements Cluster {
  readonly #database: PostgresDatabase;
  readonly #seconds: number;
  #id = 0;
  #live = 1;
  #leads = false;
  #encounters = 0;
  /** When the last beat was sent that has renewed the lease, and the first one of those that did so in time. */
  #renewed: Moment = now();
  #since = this.#renewed;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;
  /** What this server says of itself. */
  readonly offers: Offers;
  #looking: NodeJS.Timeout | undefined;
  /** Looks when the lease of a silent server ends. */
  #ending: NodeJS.Timeout | undefined;
  #lookedAt = -Infinity;
  #hasLeft = false;
  /** The servers that came before this one, and the ends of their leases, until they have heard of it. */
  #before: Values | undefined;
  /** Whether others may have taken what it works on: it begins anew as soon as the database answers. */
  #isLost = false;
  #onLost: () => void = () => undefined;
  #onBeat: (found: Found) => void = () => undefined;
  #onFreed: () => void = () => undefined;
  #onOutdated: () => void = () => undefined;
  readonly #schema: number;
  /** A later version has made a schema that this one cannot use. */
  #isOutdated = false;
  /** What waits for the next beat. */
  #next = Promise.withResolvers<void>();

  private constructor(url: string, seconds: number, schema: number) {
    this.#seconds = seconds;
    this.#schema = schema;
    // A connection of its own, and one that hangs is given up while there is time for another one.
    this.#database = new PostgresDatabase(url, { patience: (seconds * 1_000 - margin) / 2, connections: 1 });
    this.offers = new Offers(this.#database);
  }

  /**
   * Begins to work on the database of an address. Resolves when all other servers know of this one: what a server knows
   * to be alone holds until then. `schema`: the newest that this version knows.
   */
  static async join(url: string, seconds = usualLease, schema = Infinity): Promise<ServerLease> {
    const lease = new ServerLease(url, seconds, schema);
    try {
      await lease.#join();
      lease.#timer = setInterval(() => void lease.#beat(), pause).unref();
      while (!(await lease.#isHeard())) await sleep(pause / 20);
      await lease.#beat();
      return lease;
    } catch (error) {
      await lease.leave();
      throw error;
    }
  }

  get id(): number {
    return this.#id;
  }

  /** After a silence others may be there of which it has not heard. */
  get live(): number {
    return this.trusts() ? this.#live : Math.max(2, this.#live);
  }

  get encounters(): number {
    return this.#encounters;
  }

  get leads(): boolean {
    return this.#leads && this.trusts();
  }

  trusts(): boolean {
    return !this.#isLost && this.#before === undefined && this.#isTrusted(this.#renewed);
  }

  /** Resolves at once; after a silence when the others know that this server is there again, or the database is away. */
  async known(): Promise<void> {
    if (this.trusts()) return;
    await this.#beat();
    while (this.#before !== undefined && this.#isTrusted(this.#renewed)) await this.#next.promise;
  }

  get problem(): string | undefined {
    if (this.#isOutdated) return "A later version of Millrace has changed the database; start that version here.";
    return this.trusts() ? undefined : "The database has not renewed the lease of this server.";
  }

  onOutdated(listener: () => void): void {
    this.#onOutdated = listener;
  }

  onLost(listener: () => void): void {
    this.#onLost = listener;
  }

  onBeat(listener: (found: Found) => void): void {
    this.#onBeat = listener;
  }

  get workspace(): string | undefined {
    return this.offers.workspace;
  }

  readonly serves: Cluster["serves"] = (graphs, mounted) => this.offers.say(this.#id, graphs, mounted);
  readonly isServed: Cluster["isServed"] = (graph) => this.offers.isServed(graph);
  readonly unmounted: Cluster["unmounted"] = (runIds) => this.offers.unmounted(runIds);

  /** Calls back when runs are in no server's hand since this moment. There is one listener. */
  onFreed(listener: () => void): void {
    this.#onFreed = listener;
  }

  /** Beats soon, without waiting for the time to come: there is something to find. */
  look(): void {
    if (this.#looking !== undefined || this.#hasLeft) return;
    const wait = Math.max(0, this.#lookedAt + lookPause - performance.now());
    const beat = async (): Promise<void> => {
      // One that is under way may have been sent too early.
      await this.#beating;
      this.#looking = undefined;
      this.#lookedAt = performance.now();
      if (!this.#hasLeft) await this.#beat();
    };
    this.#looking = setTimeout(() => void beat(), wait).unref();
  }

  /**
   * Resolves when what the server began under this number is surely its own, which it is at once but for an outage. Throws
   * `conflict` where it is not.
   */
  async trusted(id: number): Promise<void> {
    const until = performance.now() + patience;
    while (id !== this.#id || !this.trusts()) {
      if (id !== this.#id) {
        throw new AppError("conflict", "This server was silent for so long that another one goes on with its runs.");
      }
      if (performance.now() > until) {
        throw new AppError("storage_unavailable", `PostgreSQL at ${this.#database.place} does not answer.`, {
          suggestion: "Check that PostgreSQL runs at the address in MILLRACE_DATABASE.",
          recoverable: true,
        });
      }
      await this.#next.promise;
    }
  }

  /** Ends the lease, and closes its connection. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    clearInterval(this.#timer);
    clearTimeout(this.#looking);
    clearTimeout(this.#ending);
    await this.#beating;
    // Where PostgreSQL is away the lease runs out by itself; that must not keep the server from closing the rest.
    await this.#remove().catch(() => undefined);
    this.#onFreed();
    if (ofProcess.size === 0) forgetCommonTime();
    await this.#database.close();
  }

  async #join(): Promise<void> {
    const sent = now();
    const { host, process } = thisProcess();
    const { graphs, workspaces } = this.offers;
    const [row] = await this.#database.rows(join, [host, process, this.#seconds, graphs, workspaces]);
    this.#id = parseRow(IdRow, "servers", row).id;
    ofProcess.add(this.#id);
    this.#renewed = this.#since = sent;
    await removeEnded(this.#database);
    const others = readRows(LeaseRow, "servers", await this.#database.rows(othersOf, [this.#id]));
    this.#before = [others.map(({ id }) => id), others.map(({ until }) => until)];
  }

  /** Whether each server that came before has beaten once more, or is silent; the others are asked to beat. */
  async #isHeard(): Promise<boolean> {
    if (this.#before === undefined) return true;
    const [row] = await this.#database.rows(unheard, this.#before);
    if (!parseRow(WaitRow, "servers", row).waits) this.#before = undefined;
    else await this.#database.rows(askToBeat, [channelOf("all"), noticeOf(this.#id, { type: "look" })]);
    return this.#before === undefined;
  }

  #beat(): Promise<void> {
    // With others there, what it works on may be taken from here on. The clock of the wall alone may just have been set.
    if (this.#live > 1 && !this.#isTrusted(this.#renewed, { ...now(), wall: this.#renewed.wall })) this.#lose();
    return (this.#beating ??= this.#renew());
  }

  /** Never throws: in an outage trust runs out by itself. */
  async #renew(): Promise<void> {
    const sent = now();
    try {
      const [row] = await this.#database.rows(renew, [this.#id, this.#seconds, this.offers.graphs]);
      const found = parseRow(BeatRow, "servers", row);
      const { is_alive, live, silent, min_compatible, has_left_over, next_end, stops } = found;
      heardCommonTime(found.at, sent.monotonic);
      this.#live = live;
      this.#leads = found.leads && !this.#isOutdated;
      if (live > 1) this.#encounters += 1;
      if (!is_alive || this.#isLost) return await this.#beginAnew();
      if (!this.#isTrusted(this.#renewed)) this.#since = sent;
      this.#renewed = sent;
      if (!(await this.#isHeard())) this.look();
      // After an outage everybody was silent: each gets the time to say so.
      if (silent > 0 && !this.#isTrusted(this.#since)) await this.#removeSilent();
      // The runs of a server that is silent need not wait for the next beat.
      if (next_end !== null && next_end >= 0 && next_end < pause) {
        clearTimeout(this.#ending);
        this.#ending = setTimeout(() => this.look(), next_end + afterEnd).unref();
      }
      if (min_compatible > this.#schema && !this.#isOutdated) {
        this.#isOutdated = true;
        this.#onOutdated();
      }
      this.#onBeat({ stops, hasLeftOver: has_left_over });
    } catch {
      // The next beat tries again.
    } finally {
      this.#beating = undefined;
      this.#next.resolve();
      this.#next = Promise.withResolvers();
    }
  }

  async #removeSilent(): Promise<void> {
    if ((await this.#database.change(removeSilent, [this.#id])) === 0) return;
    this.#onFreed();
    this.look();
  }

  /** What it works on is not its own any more. */
  #lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#onLost();
  }

  async #beginAnew(): Promise<void> {
    this.#lose();
    await this.#remove();
    this.#onFreed();
    await this.#join();
    this.#isLost = false;
    this.look();
  }

  async #remove(): Promise<void> {
    ofProcess.delete(this.#id);
    await this.#database.change("DELETE FROM servers WHERE id = $1", [this.#id]);
  }

  #isTrusted(sent: Moment, at = now()): boolean {
    return isTrusted(sent, at, { ttl: this.#seconds * 1_000, margin });
  }
}
