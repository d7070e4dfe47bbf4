import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import { readRow } from "../../rows.ts";
import { hasEnded, thisProcess } from "../servers/place-of-process.ts";
import { later, type PostgresDatabase } from "./database.ts";

/** Seconds that the lock lasts without a beat of its server, and between two beats. */
const [lease, beat] = [10, 2.5];
/** Milliseconds between two looks at the lock of a server that may be gone. */
const pause = 250;

const Holder = z.object({ holder: z.string(), host: z.string(), process: z.number(), until: z.number() });
type Holder = z.infer<typeof Holder>;

/** The locks that servers of this process hold. */
const held = new Set<string>();

/** `$1` takes the lock where nobody has it, it has run out, or it is that of `$5`, which is known to be gone. */
const take = `INSERT INTO server_lock AS l (holder, host, process, until)
  VALUES ($1, $2, $3, now() + make_interval(secs => $4))
  ON CONFLICT (only_one) DO UPDATE
    SET holder = excluded.holder, host = excluded.host, process = excluded.process, until = excluded.until
    WHERE l.until < now() OR l.holder = $5`;
const renew = `UPDATE server_lock SET until = now() + make_interval(secs => $2) WHERE holder = $1 RETURNING ${later}`;
const look = "SELECT holder, host, process, extract(epoch FROM until)::float8 AS until FROM server_lock";

/**
 * One server works on a database at a time. It says so in a row that it renews, by the clock of the database: no connection
 * holds the lock, so that a pooler may stand in between. A server that has ended without giving it back is known by its
 * process, or by its silence.
 */
export class ServerLock {
  readonly #database: PostgresDatabase;
  readonly #holder = crypto.randomUUID();
  #timer: NodeJS.Timeout | undefined;

  private constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** Takes the lock. Throws `conflict` while another server works. */
  static async take(database: PostgresDatabase): Promise<ServerLock> {
    const lock = new ServerLock(database);
    let before: Holder | undefined;
    for (let gone = ""; !(await lock.#take(gone));) {
      const [row] = await database.rows(look);
      const other = readRow(Holder, "server_lock", row);
      const isSame = other?.holder === before?.holder;
      if (other !== undefined && (held.has(other.holder) || (isSame && other.until > (before?.until ?? 0)))) {
        throw inUse(database.place, other);
      }
      gone = other !== undefined && hasEnded(other) ? other.holder : "";
      before = other;
      if (gone === "") await sleep(pause);
    }
    held.add(lock.#holder);
    lock.#timer = setInterval(() => void lock.#renew(), beat * 1_000).unref();
    return lock;
  }

  /** Gives the lock back. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    held.delete(this.#holder);
    await this.#database.change("DELETE FROM server_lock WHERE holder = $1", [this.#holder]);
  }

  async #take(gone: string): Promise<boolean> {
    const { host, process } = thisProcess();
    return (await this.#database.change(take, [this.#holder, host, process, lease, gone])) > 0;
  }

  /** A beat. Where another server has taken the database, this one writes nothing more; an outage is waited out. */
  async #renew(): Promise<void> {
    const renewed = await this.#database.change(renew, [this.#holder, lease]).catch(() => undefined);
    if (renewed !== 0) return;
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
