import { randomUUID } from "node:crypto";
import { z } from "zod";
import { onAbort } from "../../../concurrency/abort.ts";
import { AppError } from "../../../errors/errors.ts";
import type { PeerNotifications, PathLocks } from "../../cluster.ts";
import { parseRow } from "../../rows.ts";
import { asyncCommit, type PostgresDatabase } from "../database/database.ts";

/** Milliseconds between two polls of a lock without a notification, and before a failed release is retried. */
const pause = 1_000;
/** Retries of a release: longer than any outage that a lease survives. */
const releaseTries = 600;

const LockRow = z.object({ is_there: z.boolean(), is_free: z.boolean() });
const ReleaseRow = z.object({ is_awaited: z.boolean() });

const take = "SELECT is_there, is_free FROM millrace_lock_paths_v1($1, $2, $3, $4, $5)";
const look = "SELECT is_there, is_free FROM millrace_lock_state_v1($1, $2)";
const release = `WITH gone AS (
    DELETE FROM workspace_locks WHERE workspace = $1 AND call = $2 RETURNING ticket, server, ${asyncCommit}
  )
  SELECT EXISTS (SELECT FROM workspace_locks AS other WHERE workspace = $1 AND other.server <> gone.server
    AND other.ticket > gone.ticket) AS is_awaited FROM gone LIMIT 1`;

/** The part of a lease that locks need. */
interface LeaseHolder {
  readonly id: number;
  readonly serverCount: number;
  readonly workspace: string | undefined;
}

/**
 * Locks of workspace paths between the servers that have it mounted. A lock is a row that is deleted with its server. With
 * one server only, no lock is taken.
 */
export class PostgresPathLocks implements PathLocks {
  readonly #database: PostgresDatabase;
  readonly #holder: LeaseHolder;
  readonly #notifications: PeerNotifications;
  readonly #waiting = new Set<() => void>();

  constructor(database: PostgresDatabase, holder: LeaseHolder, notifications: PeerNotifications) {
    this.#database = database;
    this.#holder = holder;
    this.#notifications = notifications;
    notifications.onNotification(({ type }) => {
      if (type === "unlocked") for (const wake of this.#waiting) wake();
    });
  }

  async acquire(given: readonly string[], signal: AbortSignal): Promise<() => Promise<void>> {
    const { id, serverCount, workspace } = this.#holder;
    // No file has such a name, and PostgreSQL accepts none: the call itself reports it.
    const paths = given.filter((path) => !path.includes("\0"));
    if (workspace === undefined || serverCount === 1 || paths.length === 0) return () => Promise.resolve();
    const call = randomUUID();
    const free = (): Promise<void> => this.#release([workspace, call], id);
    try {
      let row = await this.#database.once(async (again) => {
        const [first] = await this.#database.rows(take, [workspace, call, paths, id, again]);
        return first;
      });
      for (;;) {
        const { is_there, is_free } = parseRow(LockRow, "workspace_locks", row);
        if (!is_there) throw new AppError("conflict", "This server was silent for so long that its locks are gone.");
        if (is_free) return free;
        await this.#waitForRelease(signal);
        [row] = await this.#database.read(look, [workspace, call]);
      }
    } catch (error) {
      await free();
      throw error;
    }
  }

  /** Resolves when the lock may have been released. Throws `cancelled`. */
  async #waitForRelease(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, pause);
    const forget = onAbort(signal, resolve);
    this.#waiting.add(resolve);
    try {
      await promise;
    } finally {
      this.#waiting.delete(resolve);
      forget();
      clearTimeout(timer);
    }
    if (signal.aborted) throw new AppError("cancelled", "Cancelled while waiting for its turn.");
  }

  /** Never throws: a failed release is retried while the server keeps its id. */
  async #release(lock: [workspace: string, call: string], server: number, tries = 0): Promise<void> {
    try {
      const [row] = await this.#database.rows(release, lock);
      if (row === undefined || !parseRow(ReleaseRow, "workspace_locks", row).is_awaited) return;
      this.#notifications.send("all", { type: "unlocked" });
    } catch {
      if (server !== this.#holder.id || tries === releaseTries) return;
      setTimeout(() => void this.#release(lock, server, tries + 1), pause).unref();
    }
  }
}
