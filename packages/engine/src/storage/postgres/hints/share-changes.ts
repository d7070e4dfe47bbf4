import type { ChangeListener } from "../../changes.ts";
import type { Hint } from "../../cluster.ts";
import type { PostgresDatabase } from "../database/database.ts";
import type { PostgresHints } from "./hints.ts";

/** Milliseconds between two requests to be told of changes, and for which one holds. */
const [asking, patience] = [5_000, 12_000];

/** What this server changes, for its own listener and for those of other servers, which ask for it; and what they change. */
export class SharedChanges {
  readonly #hints: PostgresHints;
  readonly #database: PostgresDatabase;
  /** Until when other servers want to be told. */
  readonly #askers = new Map<number, number>();
  #listener: { tell: ChangeListener; onMissed: () => void } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(hints: PostgresHints, database: PostgresDatabase) {
    this.#hints = hints;
    this.#database = database;
    hints.onHint((hint, from) => this.#hear(hint, from));
    hints.onRestored(() => {
      hints.hint("all", { type: "joined" });
      if (this.#listener === undefined || !hints.hasOthers) return;
      this.#ask("all");
      this.#listener.onMissed();
    });
  }

  /** See `Storage.watch`. */
  watch(tell: ChangeListener, onMissed: () => void): void {
    this.#listener = { tell, onMissed };
    this.#begin();
    this.#ask("all");
    this.#timer ??= setInterval(() => this.#ask("all"), asking).unref();
  }

  /** Asks no more. */
  close(): void {
    clearInterval(this.#timer);
  }

  #ask(of: number | "all"): void {
    this.#hints.hint(of, { type: "changes" });
  }

  #begin(): void {
    this.#database.watch((changes) => {
      this.#listener?.tell(changes);
      const now = performance.now();
      for (const [server, until] of this.#askers) {
        if (until < now) this.#askers.delete(server);
        else for (const change of changes) this.#tell(server, { type: "changed", change });
      }
    });
  }

  /** What is too long to be told has to be read again. */
  #tell(server: number, hint: Hint): void {
    if (!this.#hints.hint(server, hint)) this.#hints.hint(server, { type: "missed" });
  }

  #hear(hint: Hint, from: number): void {
    if (hint.type === "changed") this.#listener?.tell([hint.change]);
    if (hint.type === "missed") this.#listener?.onMissed();
    if (hint.type === "joined" && this.#listener !== undefined) this.#ask(from);
    if (hint.type !== "changes") return;
    // What has changed before it asked, it has to read.
    if ((this.#askers.get(from) ?? 0) < performance.now()) this.#hints.hint(from, { type: "missed" });
    this.#askers.set(from, performance.now() + patience);
    this.#begin();
  }
}
