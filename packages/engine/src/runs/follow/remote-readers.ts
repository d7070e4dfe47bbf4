import type { Hints } from "../../storage/cluster.ts";
import type { Storage } from "../../storage/storage.ts";
import type { LogReaders } from "../events/log.ts";
import type { ActiveRun } from "../active-run.ts";
import type { Coming } from "./coming-runs.ts";
import { SessionFeeds } from "./follow.ts";
import { LiveRuns } from "./live-runs.ts";

/** Milliseconds that a server counts as a reader after it has asked; it asks again every five seconds. */
const patience = 12_000;

/** The servers whose readers follow runs that this one executes, and sessions whose runs may begin here. */
class RemoteReaders implements LogReaders {
  readonly #hints: Hints;
  readonly #ofRuns = new Asked();
  readonly #ofSessions = new Asked();

  /** `inHand`: the runs that this server executes, or is going to. */
  constructor(hints: Hints, inHand: ReadonlyMap<string, ActiveRun>) {
    this.#hints = hints;
    hints.onHint((hint, from) => {
      if (hint.type === "watch") this.#ofSessions.add(hint.session_id, from);
      // A temporary session need not wait for its reader any more.
      if (hint.type === "read") inHand.get(hint.run_id)?.hold()();
      if (hint.type !== "follow") return;
      this.#ofRuns.add(hint.run_id, from);
      // It is heard of at once, so that the follower need not look often.
      if (inHand.has(hint.run_id)) hints.hint(from, { type: "moved", run_id: hint.run_id });
    });
  }

  isFollowed(runId: string): boolean {
    return this.#ofRuns.has(runId);
  }

  moved(run_id: string): void {
    for (const server of this.#ofRuns.of(run_id)) this.#hints.hint(server, { type: "moved", run_id });
  }

  /** Something comes here for the readers of a session. */
  tell(session_id: string, item: Coming): void {
    for (const server of this.#ofSessions.of(session_id)) {
      if ("run_id" in item) {
        const { run_id, hasBegun } = item;
        this.#hints.hint(server, { type: hasBegun ? "begun" : "stopped", session_id, run_id });
      } else if (!this.#hints.hint(server, { type: "news", session_id, news: item.news })) {
        // A long text can be read with the operation.
        this.#hints.hint(server, { type: "news", session_id, news: { ...item.news, content: undefined } });
      }
    }
  }
}

/** What tells readers of runs that are performed here. */
export interface ConnectedReaders {
  feeds: SessionFeeds;
  /** Those at other servers, where there can be some. */
  elsewhere: LogReaders | undefined;
  /** What runs are at. */
  live: LiveRuns;
}

/** What tells readers here and at other servers. `inHand`: see `RemoteReaders`. */
export function connectReaders(
  { hints, runs }: Pick<Storage, "hints" | "runs">,
  inHand: ReadonlyMap<string, ActiveRun>,
): ConnectedReaders {
  const live = new LiveRuns(hints, inHand);
  if (!hints.isShared) return { feeds: new SessionFeeds(), elsewhere: undefined, live };
  const elsewhere = new RemoteReaders(hints, inHand);
  const feeds = new SessionFeeds({
    tell: (sessionId, item) => elsewhere.tell(sessionId, item),
    watched: {
      marks: (sessionId) => runs.marks(sessionId),
      ask: (session_id) => hints.hint("all", { type: "watch", session_id }),
      hasOthers: () => hints.hasOthers,
      listens: () => hints.listens,
    },
  });
  hints.onHint((hint) => {
    if (hint.type === "news") feeds.hear(hint.session_id, { news: hint.news });
    if (hint.type === "begun" || hint.type === "stopped") {
      feeds.hear(hint.session_id, { run_id: hint.run_id, hasBegun: hint.type === "begun" });
    }
  });
  return { feeds, elsewhere, live };
}

/** Which servers have asked for something, by its id. */
class Asked {
  readonly #until = new Map<string, Map<number, number>>();
  #sweptAt = 0;

  add(id: string, server: number): void {
    this.#sweep();
    const servers = this.#until.get(id) ?? new Map<number, number>();
    this.#until.set(id, servers.set(server, performance.now() + patience));
  }

  has(id: string): boolean {
    return this.#until.has(id) && this.of(id).length > 0;
  }

  of(id: string): number[] {
    const servers = this.#until.get(id);
    if (servers === undefined) return [];
    const now = performance.now();
    return [...servers].flatMap(([server, until]) => (until > now ? [server] : []));
  }

  /** Forgets those that have not asked again, now and then. */
  #sweep(): void {
    const now = performance.now();
    if (now - this.#sweptAt < patience) return;
    this.#sweptAt = now;
    for (const [id, servers] of this.#until) {
      for (const [server, until] of servers) if (until <= now) servers.delete(server);
      if (servers.size === 0) this.#until.delete(id);
    }
  }
}
