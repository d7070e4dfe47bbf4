import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import { readRow } from "../../rows.ts";
import { hasProcessEnded } from "../servers/process-identity.ts";
import type { PostgresDatabase } from "./database.ts";

/** Seconds that the lock lasts without a beat of its server, and between two beats. */
const [lease, beat] = [10, 2.5];
/** Milliseconds between two looks at the lock of a server that may be gone. */
const pause = 250;

const Holder = z.object({ holder: z.string(), host: z.string(), process: z.number(), until: z.number() });
type Holder = z.infer<typeof Holder>;

/** What stands in the lock for the servers of this version, which work beside each other. */
const ours = { holder: "servers", host: "several", process: 0 };

/** Takes the lock, or renews it, where no server of another version has it, it has run out, or it is that of `$5`, which is gone. */
const take = `INSERT INTO server_lock AS l (holder, host, process, until)
  VALUES ($1, $2, $3, now() + make_interval(secs => $4))
  ON CONFLICT (only_one) DO UPDATE
    SET holder = excluded.holder, host = excluded.host, process = excluded.process, until = excluded.until
    WHERE l.until < now() OR l.holder IN ($1, $5)`;
const look = "SELECT holder, host, process, extract(epoch FROM until)::float8 AS until FROM server_lock";

/**
 * What keeps servers of this version from one of a former version, of which one works on a database at a time. It says so in
 * a row that it renews, by the clock of the database; those of this version renew the row together. A server that has ended
 * without giving it back is known by its process, or by its silence.
 */
export class ServerLock {
  readonly #database: PostgresDatabase;
  #timer: NodeJS.Timeout | undefined;
  #beating: Promise<void> | undefined;

  private constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Takes the lock with the other servers. Throws `conflict` while one of a former version works. */
  static async take(database: PostgresDatabase): Promise<ServerLock> {
    const lock = new ServerLock(database);
    let before: Holder | undefined;
    for (let gone = ""; !(await lock.#take(gone));) {
      const [row] = await database.rows(look);
      const other = readRow(Holder, "server_lock", row);
      const isSame = other?.holder === before?.holder;
      if (other !== undefined && isSame && other.until > (before?.until ?? 0)) {
        throw inUse(database.place, other);
      }
      gone = other !== undefined && hasProcessEnded(other) ? other.holder : "";
      before = other;
      if (gone === "") await sleep(pause);
    }
    lock.#timer = setInterval(() => void (lock.#beating = lock.#renew()), beat * 1_000).unref();
    return lock;
  }

  /** Leaves the lock to the other servers; the last one gives it back. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#beating;
    const release = "DELETE FROM server_lock WHERE holder = $1 AND NOT EXISTS (SELECT FROM servers)";
    await this.#database.change(release, [ours.holder]);
  }

  async #take(gone: string): Promise<boolean> {
    return (await this.#database.change(take, [ours.holder, ours.host, ours.process, lease, gone])) > 0;
  }

  /** A beat. Where a server of a former version has taken the database, this one writes nothing more; an outage is waited out. */
  async #renew(): Promise<void> {
    const isRenewed = await this.#take("").catch(() => true);
    if (isRenewed) return;
    clearInterval(this.#timer);
    const message = `Another server has taken over the database ${this.#database.place}.`;
    this.#database.refuse(new AppError("conflict", message, { suggestion: "Stop this server." }));
  }
}

function inUse(place: string, { host: where, process: number }: Holder): AppError {
  const name = where.split(" ")[0] ?? where;
  return new AppError("conflict", `The database ${place} is in use by another server (process ${number} on ${name}).`, {
    suggestion: "Stop it first, or name another database in MILLRACE_DATABASE.",
  });
}
