/** How many threads without rows are remembered, of each kind. */
const absentKept = 512;

/** Threads that have no rows, which need not be looked for. */
export class AbsentThreads {
  /** There was none at the last look, and one may have been made since: a write that makes it then fails, and looks. */
  readonly #seen = new Set<string>();
  /** There is none before this process writes. */
  readonly #expected = new Set<string>();

  /** Only this process writes to the thread, and it has no rows. */
  expect(threadId: string): void {
    remember(this.#expected, threadId);
  }

  /** A look has found none. */
  see(threadId: string): void {
    remember(this.#seen, threadId);
  }

  /** Another server may have written to the thread, or to any. */
  forget(threadId?: string): void {
    for (const ids of [this.#seen, this.#expected]) {
      if (threadId === undefined) ids.clear();
      else ids.delete(threadId);
    }
  }

  /** Whether a reader finds none. */
  has(threadId: string): boolean {
    return this.#expected.has(threadId);
  }

  /** Whether a writer may take the thread for new, once. */
  take(threadId: string): boolean {
    const isSeen = this.#seen.delete(threadId);
    return this.#expected.delete(threadId) || isSeen;
  }
}

function remember(ids: Set<string>, id: string): void {
  if (ids.size >= absentKept) ids.clear();
  ids.add(id);
}
