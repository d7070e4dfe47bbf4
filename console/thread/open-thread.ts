import { approvalsOf } from "../api/approvals.ts";
import { ApiError, request } from "../api/client.ts";
import { followThread } from "../api/live/events.ts";
import type { FeedEvent } from "../api/live/feed.ts";
import { Activity, Message, MessagePage, OperationPage } from "../api/shapes.ts";
import { isTurn, pastOf, readEvent, type ThreadEvent } from "./events.ts";
import { withPage } from "./from-messages.ts";
import { stopFirst, waitingIn } from "./queued.ts";
import { emptyThread, hasCall, type Item } from "./items.ts";
import { reduceAll, withItem } from "./reduce.ts";
import { nothingKnown, type Snapshot } from "./snapshot.ts";

/** Messages of a page. */
const pageSize = 50;
/** Messages of a page where one is looked for that may be far away. */
const largePage = 1_000;
/** Milliseconds between two commits of a tab in the background. */
const hiddenPause = 500;

/** A thread that is shown: its state, kept as the server has it, or as it was. */
export class OpenThread {
  readonly id: string;
  /** Whether it is shown as it was at a checkpoint, and not followed; see `lookAt`. */
  readonly isPast: boolean;
  #checkpoint = "";
  #snapshot = nothingKnown;
  readonly #listeners = new Set<() => void>();
  #closing = new AbortController();
  #waiting: ThreadEvent[] = [];
  /** Whether events are held back until the first page is there. */
  #holds = true;
  /** Events of the past that are on their way: what a lost attempt said is not drawn before it is taken back. */
  #owed = 0;
  #isScheduled = false;
  #syncing: Promise<void> | undefined;
  #syncAgain = false;
  /** Runs that are being asked for, and how many were. */
  readonly #asking = new Set<Promise<unknown>>();
  #asked = 0;

  constructor(id: string, isPast = false) {
    this.id = id;
    this.isPast = isPast;
  }

  /** Begins to follow the thread; the result ends it. */
  open(): () => void {
    const closing = new AbortController();
    this.#closing = closing;
    if (this.isPast) return () => closing.abort();
    const end = followThread(this.id, () => this.#snapshot.thread.seq, {
      onEvent: (event) => this.#take(event),
      onState: (connection) => {
        this.#set({ connection });
        if (connection !== "open") this.#forgetPast();
        if (connection === "open") void this.sync();
      },
    });
    void this.sync();
    return () => {
      closing.abort();
      end();
    };
  }

  /** Shows the thread as it was at a checkpoint; "" is the newest. What was shown stays until that is there. */
  lookAt(checkpoint: string): void {
    this.#checkpoint = checkpoint;
    void this.sync();
  }

  /** What is known now; another object when something has changed. */
  readonly snapshot = (): Snapshot => this.#snapshot;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Asks the server how things stand; a second time while it is being asked is asked once more after. */
  sync(): Promise<void> {
    if (this.#syncing !== undefined) {
      this.#syncAgain = true;
      return this.#syncing;
    }
    this.#syncing = this.#ask().finally(() => {
      this.#syncing = undefined;
      if (this.#syncAgain && !this.#closing.signal.aborted) {
        this.#syncAgain = false;
        void this.sync();
      }
    });
    return this.#syncing;
  }

  async #ask(): Promise<void> {
    const { signal } = this.#closing;
    let { ended } = this.#snapshot.thread;
    const asked = this.#asking.size > 0 ? undefined : this.#asked;
    try {
      if (this.isPast) {
        this.#showPast(await this.#page(pageSize));
        return;
      }
      const [page, activity, approvals, operations] = await Promise.all([
        this.#page(pageSize),
        request(`/threads/${this.id}/status`, Activity, { signal }),
        approvalsOf(this.id, signal),
        request(`/threads/${this.id}/operations?limit=100`, OperationPage, { signal }),
      ]);
      const queue = activity.queue_length > 0 ? await waitingIn(this.id, signal) : [];
      // It is the first one also where an earlier try has failed.
      const isFirst = this.#holds;
      const before = isFirst ? page.before : this.#snapshot.before;
      // A page that is new learns from what stands there which runs are over.
      if (isFirst && !activity.is_loading && approvals.length === 0) {
        ended = new Set([...ended, ...page.messages.flatMap(({ llm_metadata }) => llm_metadata?.run_id ?? [])]);
        this.#set({ thread: { ...this.#snapshot.thread, ended } });
      }
      this.#flush();
      const thread = withPage(this.#snapshot.thread, {
        messages: page.messages,
        ended,
        isNewest: true,
        isWhole: page.before === null,
      });
      const usage = thread.usage === 0 || !activity.is_loading ? activity.usage_ratio : thread.usage;
      const isEarly = asked !== this.#asked || this.#asking.size > 0;
      this.#set({
        thread: { ...thread, usage, isBusy: activity.is_loading || (isEarly && thread.isBusy) },
        activity,
        approvals,
        operations: operations.operations,
        queue,
        before,
        isLoading: false,
        error: undefined,
        isStopping: activity.is_stop_loading,
      });
      // What was sent without an answer has arrived where it waits for a run.
      for (const { id } of queue) if (this.#snapshot.thread.items.has(id)) this.forget(id);
      this.#holds = false;
      this.#schedule();
    } catch (error) {
      if (!signal.aborted) this.#set({ error, isLoading: false });
    }
  }

  #page(limit: number, before?: string): Promise<MessagePage> {
    const asked = new URLSearchParams({ limit: String(limit), ...(before && { before }) });
    if (this.#checkpoint !== "") asked.set("checkpoint_id", this.#checkpoint);
    const path = `/threads/${this.id}/messages?${asked.toString()}`;
    return request(path, MessagePage, { signal: this.#closing.signal });
  }

  #showPast({ messages, before }: MessagePage): void {
    const page = { messages, ended: new Set<string>(), isNewest: true, isWhole: before === null };
    this.#set({ thread: withPage(emptyThread, page), before, isLoading: false, error: undefined });
  }

  /** Loads the messages before those that are known. */
  async loadOlder(limit = pageSize): Promise<void> {
    const { before } = this.#snapshot;
    if (before === null) return;
    const page = await this.#page(limit, before);
    if (this.#snapshot.before !== before) return;
    const thread = withPage(this.#snapshot.thread, {
      messages: page.messages,
      ended: new Set(),
      isNewest: false,
      isWhole: false,
    });
    this.#set({ thread, before: page.before });
  }

  /** The item that shows a message, or the call whose result it is, if there is one; older messages are loaded for it. */
  async reach(messageId: string): Promise<string | undefined> {
    const callId = this.#snapshot.thread.items.has(messageId) ? null : await this.#callOf(messageId);
    if (callId === undefined) return undefined;
    for (;;) {
      const { thread, before } = this.#snapshot;
      const found = thread.order.find((id) =>
        callId === null ? id === messageId : hasCall(thread.items.get(id), callId),
      );
      if (found !== undefined || before === null) return found;
      await this.loadOlder(largePage);
    }
  }

  /** The call whose result a message is; `null` for any other message, `undefined` where the server has none. */
  async #callOf(messageId: string): Promise<string | null | undefined> {
    const { signal } = this.#closing;
    try {
      const path = `/threads/${this.id}/messages/${encodeURIComponent(messageId)}`;
      return (await request(path, Message, { signal })).tool_call_id;
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  /** Takes up what has changed beside the thread's own events, in this window or another. */
  onFeedEvent({ type, id, thread_id, what }: FeedEvent): void {
    if (this.isPast) return;
    const isOwn = thread_id === this.id || (type === "thread" && id === this.id);
    const isQuiet = type === "thread" && what !== "deleted" && this.#snapshot.thread.isBusy;
    if (type === "resync" || (isOwn && !isQuiet)) void this.sync();
  }

  /** Shows something at once that the server does not know yet. */
  show(item: Item): void {
    this.#set({ thread: withItem(this.#snapshot.thread, item) });
  }

  /** Says that a run is asked for, before its events come; what was read of the server meanwhile may be older than it. */
  async expectRun<Answer>(asks: Promise<Answer>): Promise<Answer> {
    this.#set({ thread: { ...this.#snapshot.thread, isBusy: true } });
    this.#asking.add(asks);
    try {
      return await asks;
    } finally {
      this.#asking.delete(asks);
      this.#asked += 1;
    }
  }

  /** Stops what works, else the first run that waits; see `stopFirst`. Where that does not arrive, it can be asked for again. */
  async stop(only?: "running"): Promise<void> {
    // What was asked for once more in haste is not meant for what works next.
    if (this.#snapshot.isStopping) return;
    this.#set({ isStopping: true });
    try {
      // The server does not know yet what is being asked of it.
      await Promise.allSettled(this.#asking);
      const taken = await stopFirst(this.id, only, this.#closing.signal);
      if (taken !== undefined) this.forget(taken.id);
    } catch (error) {
      this.#set({ isStopping: false });
      throw error;
    }
    await this.sync();
  }

  /** Takes an item away that never was on the server. */
  forget(id: string): void {
    const { thread } = this.#snapshot;
    const items = new Map(thread.items);
    items.delete(id);
    this.#set({ thread: { ...thread, items, order: thread.order.filter((one) => one !== id) } });
  }

  #take(value: unknown): void {
    const event = readEvent(value);
    const owed = event === undefined ? pastOf(value) : undefined;
    this.#owed = owed ?? Math.max(0, this.#owed - 1);
    if (event !== undefined) this.#waiting.push(event);
    if (!this.#holds) this.#schedule();
  }

  /** A past that came only in part comes again. */
  #forgetPast(): void {
    if (this.#owed > 0) this.#waiting = [];
    this.#owed = 0;
  }

  /** Events are applied once a frame; in a tab in the background, twice a second. */
  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0 || this.#owed > 0) return;
    this.#isScheduled = true;
    const work = (): void => {
      this.#isScheduled = false;
      if (!this.#closing.signal.aborted) this.#flush();
    };
    if (document.hidden) setTimeout(work, hiddenPause);
    else requestAnimationFrame(work);
  }

  #flush(): void {
    if (this.#waiting.length === 0 || this.#owed > 0) return;
    const events = this.#waiting;
    this.#waiting = [];
    this.#set({ thread: reduceAll(this.#snapshot.thread, events) });
    if (events.some(isTurn)) void this.sync();
  }

  #set(changes: Partial<Snapshot>): void {
    this.#snapshot = { ...this.#snapshot, ...changes };
    for (const listener of this.#listeners) listener();
  }
}

/** Whether a failure says that the thread is not there. */
export function isGone(error: unknown): boolean {
  return error instanceof ApiError && (error.status === 404 || error.status === 422);
}
