import BetterSqlite3 from "better-sqlite3";
import { Database, openDatabase } from "@millrace/engine/storage/sqlite/database/database";

/** What SQLite says when a write fails. */
export type FaultCode = "SQLITE_FULL" | "SQLITE_IOERR_WRITE" | "SQLITE_IOERR_FSYNC" | "SQLITE_READONLY" | "SQLITE_BUSY";

/** The only statement that such a fault can meet; any write can meet the others. */
const met: Partial<Record<FaultCode, string>> = {
  // In a write-ahead log only the beginning of a transaction can find the lock taken.
  SQLITE_BUSY: "BEGIN",
  SQLITE_IOERR_FSYNC: "COMMIT",
};

/** Makes writes of a database fail, from a chosen one on, until it is lifted. */
export class Faults {
  /** Writes that have failed since the fault was set. */
  failures = 0;
  /** Writes that were tried since then, failed ones too. */
  writes = 0;
  #first = Infinity;
  #count = 0;
  #code: FaultCode = "SQLITE_FULL";
  #onFirst = (): void => undefined;
  #waiting: { failures: number; resolve: () => void }[] = [];

  /** The `first`-th write from now fails with `code`, and those after it, `count` in all. */
  set(code: FaultCode, first: number, count: number, onFirst: () => void): void {
    [this.#code, this.#first, this.#count, this.#onFirst] = [code, first, count, onFirst];
    [this.writes, this.failures] = [0, 0];
  }

  lift(): void {
    this.#first = Infinity;
  }

  /** Resolves once so many writes have failed. */
  failed(failures: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.failures >= failures) resolve();
    else this.#waiting.push({ failures, resolve });
    return promise;
  }

  /** Called before each write; throws when it is one that has to fail. */
  meet(sql: string): void {
    if (!sql.startsWith(met[this.#code] ?? "")) return;
    this.writes += 1;
    if (this.writes < this.#first || this.writes >= this.#first + this.#count) return;
    this.failures += 1;
    if (this.failures === 1) this.#onFirst();
    for (const waiter of this.#waiting) if (waiter.failures <= this.failures) waiter.resolve();
    this.#waiting = this.#waiting.filter(({ failures }) => failures > this.failures);
    throw new BetterSqlite3.SqliteError(`${this.#code} was injected`, this.#code);
  }
}

const isWrite = /^\s*(INSERT|UPDATE|DELETE|REPLACE|BEGIN|COMMIT|SAVEPOINT|RELEASE)/i;

class FaultyDatabase extends Database {
  readonly #faults: Faults;
  readonly #wrapped = new Map<string, BetterSqlite3.Statement>();

  constructor(path: string, raw: BetterSqlite3.Database, faults: Faults) {
    super(path, raw);
    this.#faults = faults;
  }

  override prepare<Row = unknown>(sql: string): BetterSqlite3.Statement<unknown[], Row> {
    const statement = super.prepare<Row>(sql);
    if (!isWrite.test(sql)) return statement;
    const faults = this.#faults;
    const wrapped =
      this.#wrapped.get(sql) ??
      new Proxy(statement, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name, target);
          if (typeof value !== "function") return value;
          return (...parameters: unknown[]): unknown => {
            if (name === "run" || name === "get" || name === "all") faults.meet(sql);
            return Reflect.apply(value, target, parameters);
          };
        },
      });
    this.#wrapped.set(sql, wrapped);
    return wrapped as BetterSqlite3.Statement<unknown[], Row>; // the same statement behind a proxy
  }
}

/** Opens the database at a path so that `faults` can make its writes fail. */
export function openFaulty(faults: Faults): (path: string) => Database {
  return (path) => new FaultyDatabase(path, openDatabase(path).raw, faults);
}
