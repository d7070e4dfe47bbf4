import { isOver } from "../status.ts";
import type { RunMark } from "../../storage/records.ts";

/** Milliseconds between two requests to be told of a session, and between two looks: where hints arrive, and where none do. */
const [asking, looking, lookingAlone] = [5_000, 1_000, 250];

/** A run that begins, or has ended without having begun. */
export interface Begun {
  run_id: string;
  hasBegun: boolean;
}

/** What the runs of other servers are found by. */
export interface WatchParts {
  /** The newest runs of a session, newest first; `undefined` where there is no such session. */
  marks(sessionId: string): Promise<RunMark[] | undefined>;
  /** Asks other servers to tell of a session. */
  ask(sessionId: string): void;
  /** Whether there are other servers now. */
  hasOthers(): boolean;
  /** Whether what they tell arrives. */
  listens(): boolean;
}

/** Finds the runs of a session that begin at other servers: it asks to be told of them, and looks as well. */
export class SessionWatch {
  /** Resolves when it is known what had begun before. */
  readonly ready: Promise<void>;
  readonly #sessionId: string;
  readonly #parts: WatchParts;
  readonly #tell: (run: Begun) => void;
  readonly #gone: () => void;
  /** Runs that readers have got, or that had begun before. */
  readonly #known = new Set<string>();
  #wasThere = false;
  #askedAt = -Infinity;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** `gone` is called when the session is removed. */
  constructor(sessionId: string, parts: WatchParts, tell: (run: Begun) => void, gone: () => void) {
    this.#sessionId = sessionId;
    this.#parts = parts;
    this.#tell = tell;
    this.#gone = gone;
    this.#ask();
    this.ready = this.#look((run) => this.#known.add(run.run_id)).then(() => this.#later());
    // A reader that has left meanwhile does not wait for it.
    this.ready.catch(() => undefined);
  }

  /** A run begins, here or elsewhere: readers get it once. */
  note(run: Begun): void {
    if (this.#known.has(run.run_id)) return;
    this.#known.add(run.run_id);
    this.#tell(run);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #ask(): void {
    if (performance.now() - this.#askedAt < asking) return;
    this.#askedAt = performance.now();
    this.#parts.ask(this.#sessionId);
  }

  #later(): void {
    if (this.#isClosed) return;
    const again = async (): Promise<void> => {
      if (this.#parts.hasOthers()) {
        this.#ask();
        // A store that is away is asked again.
        await this.#look((run) => this.note(run)).catch(() => undefined);
      }
      this.#later();
    };
    this.#timer = setTimeout(() => void again(), this.#parts.listens() ? looking : lookingAlone).unref();
  }

  /** Finds what has begun, in the order in which it did. */
  async #look(found: (run: Begun) => void): Promise<void> {
    const marks = await this.#parts.marks(this.#sessionId);
    if (this.#isClosed) return;
    if (marks === undefined) {
      if (this.#wasThere) this.#gone();
      return;
    }
    this.#wasThere = true;
    const begun = marks.filter(({ status }) => status !== "pending").toReversed();
    for (const { run_id, status, attempt } of begun) found({ run_id, hasBegun: !isOver(status) || attempt > 0 });
  }
}
