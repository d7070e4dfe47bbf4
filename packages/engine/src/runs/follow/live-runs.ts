import { withTimeout } from "../../concurrency/abort.ts";
import type { Hint, Hints } from "../../storage/cluster.ts";
import type { ActiveRun } from "../active-run.ts";

/** Milliseconds that the answer of another server is waited for. */
const patience = 1_000;
/** Characters that one notice of an answer holds: of three bytes each they are within what PostgreSQL takes. */
const partSize = 2_000;
/** Notices that one answer may have; a longer one is not told. */
const mostParts = 100;

/** What has come of an answer. */
interface Answer {
  parts: (string | undefined)[];
  resolve(live: unknown): void;
}

/** The run that works here on a session. `inHand`: the runs of this server. */
export function workingOn(sessionId: string, inHand: ReadonlyMap<string, ActiveRun>): ActiveRun | undefined {
  return inHand.values().find(({ run, walking }) => walking && run.session_id === sessionId);
}

/**
 * What runs are at, which only the memory of their servers knows. Of a run at another server it is asked for by a notice, and
 * answered by the one at which the session's run works, in as many notices as it takes.
 */
export class LiveRuns {
  readonly #hints: Hints;
  readonly #inHand: ReadonlyMap<string, ActiveRun>;
  readonly #open = new Map<string, Answer>();

  /** `inHand`: the runs of this server. */
  constructor(hints: Hints, inHand: ReadonlyMap<string, ActiveRun>) {
    this.#hints = hints;
    this.#inHand = inHand;
    hints.onHint((hint, from) => {
      if (hint.type === "live") this.#tell(hint.ask, from, workingOn(hint.session_id, inHand)?.companion?.live);
      else if (hint.type === "lives") this.#hear(hint);
    });
  }

  /** What the run of a session is at; `undefined` where none works, and where its server does not say so in time. */
  async of(session_id: string): Promise<unknown> {
    const own = workingOn(session_id, this.#inHand);
    if (own !== undefined || !this.#hints.hasOthers || !this.#hints.listens) return own?.companion?.live;
    const ask = crypto.randomUUID();
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#open.set(ask, { parts: [], resolve });
    try {
      this.#hints.hint("all", { type: "live", session_id, ask });
      return await withTimeout(promise, patience, () => undefined);
    } finally {
      this.#open.delete(ask);
    }
  }

  #tell(ask: string, to: number, live: unknown): void {
    if (live === undefined) return;
    const text = JSON.stringify(live);
    const parts = Math.ceil(text.length / partSize);
    if (parts > mostParts) return;
    for (let part = 0; part < parts; part += 1) {
      const piece = text.slice(part * partSize, (part + 1) * partSize);
      this.#hints.hint(to, { type: "lives", ask, part, parts, text: piece });
    }
  }

  #hear({ ask, part, parts, text }: Extract<Hint, { type: "lives" }>): void {
    const answer = this.#open.get(ask);
    if (answer === undefined) return;
    answer.parts[part] = text;
    const there = answer.parts.filter((one) => one !== undefined);
    if (there.length === parts) answer.resolve(JSON.parse(there.join("")));
  }
}
