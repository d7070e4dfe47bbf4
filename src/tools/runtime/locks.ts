import { AppError } from "@millrace/engine/errors/errors";
import type { PathLocks } from "@millrace/engine/storage/cluster";

/** Serializes conflicting calls and limits parallel ones. */
export interface Locks {
  /**
   * Runs `work` while holding all keys. Rejects with `cancelled` if `signal` aborts while waiting. `work` must not
   * request more keys: it could deadlock.
   */
  withLocks<T>(keys: string[], signal: AbortSignal, work: () => Promise<T>): Promise<T>;
  /** Runs `work` when fewer than `limit` others run in this group (a session). Rejects like `withLocks`. */
  withSlot<T>(group: string, limit: number, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** A parsed lock key: `read:<path>` and `write:<path>` are paths; other keys only exclude themselves. */
interface Key {
  shared: boolean;
  text: string;
  isPath: boolean;
}

interface Request {
  keys: Key[];
  /** Earlier requests it waits for. All keys are taken at once, so no deadlock is possible. */
  blockers: Set<Request>;
  grant: () => void;
}

/** The locks between servers, and the folder in which they are: an absolute path, links resolved. */
export interface LocksBetween {
  workspace: string;
  locks: PathLocks;
}

/**
 * First come, first served: a request waits for every earlier conflicting one, held or waiting, so none starves.
 * `read:` keys are shared, `write:` keys exclusive, and a folder conflicts with everything below it. Case is ignored,
 * as on some file systems. What writes in the workspace waits for other servers, too, once it is its turn here.
 */
export function createLocks(between?: LocksBetween): Locks {
  const requests = new Set<Request>();
  const groups = new Map<string, { running: number; waiting: Set<() => void> }>();

  function release(request: Request): void {
    requests.delete(request);
    for (const other of requests) {
      if (other.blockers.delete(request) && other.blockers.size === 0) other.grant();
    }
  }

  return {
    async withLocks(keys, signal, work) {
      const request: Request = { keys: keys.map(toKey), blockers: new Set(), grant: () => undefined };
      for (const earlier of requests) if (areInConflict(earlier, request)) request.blockers.add(earlier);
      requests.add(request);
      try {
        await turn(
          signal,
          (grant) => {
            request.grant = grant;
            if (request.blockers.size === 0) grant();
          },
          () => release(request),
        );
        const free = await between?.locks.acquire(writtenIn(between.workspace, request.keys), signal);
        try {
          return await work();
        } finally {
          await free?.();
        }
      } finally {
        release(request);
      }
    },

    async withSlot(group, limit, signal, work) {
      const slots = groups.get(group) ?? { running: 0, waiting: new Set() };
      groups.set(group, slots);
      if (slots.running < limit) slots.running += 1;
      else {
        // A freed slot goes to the next waiter without changing `running`, so that no newcomer takes it.
        let ticket: () => void = () => undefined;
        await turn(
          signal,
          (grant) => slots.waiting.add((ticket = grant)),
          () => slots.waiting.delete(ticket),
        );
      }
      try {
        return await work();
      } finally {
        const [next] = slots.waiting;
        if (next) {
          slots.waiting.delete(next);
          next();
        } else {
          slots.running -= 1;
          if (slots.running === 0) groups.delete(group);
        }
      }
    },
  };
}

/**
 * Waits until granted: `enter` gets the granting callback, `leave` gives up the place in the queue if `signal` aborts
 * first. Only one of the two happens.
 */
async function turn(signal: AbortSignal, enter: (grant: () => void) => void, leave: () => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = () => {
    leave();
    reject(new AppError("cancelled", "Cancelled while waiting for its turn."));
  };
  if (signal.aborted) stop();
  else {
    signal.addEventListener("abort", stop, { once: true });
    enter(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    });
  }
  await promise;
}

function toKey(key: string): Key {
  const path = /^(read|write):(.*)$/s.exec(key);
  if (!path) return { shared: false, text: key, isPath: false };
  const text = (path[2] ?? "").normalize("NFC").toLowerCase().replace(/\/+$/, "");
  return { shared: path[1] === "read", text: `${text}/`, isPath: true };
}

/** The paths in a folder that are written, relative to it. Other servers read whole files: what is written is renamed. */
function writtenIn(folder: string, keys: readonly Key[]): string[] {
  const root = toKey(`write:${folder}`).text;
  const written = keys.filter(({ isPath, shared, text }) => isPath && !shared && text.startsWith(root));
  return [...new Set(written.map(({ text }) => text.slice(root.length - 1)))];
}

function areInConflict(first: Request, second: Request): boolean {
  return first.keys.some((one) => second.keys.some((other) => excludes(one, other)));
}

function excludes(one: Key, other: Key): boolean {
  if (one.isPath !== other.isPath || (one.shared && other.shared)) return false;
  if (!one.isPath) return one.text === other.text;
  return one.text.startsWith(other.text) || other.text.startsWith(one.text);
}
