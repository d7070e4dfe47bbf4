import { KeyedMutex } from "../../concurrency/keyed-mutex.ts";
import { CurrentChanges } from "../../concurrency/feed.ts";

/** What the scopes of one server share, so that requests of different callers wait for and wake each other. */
export interface SharedLocks {
  /** Wakes those who follow what is current in a namespace. */
  changes: CurrentChanges;
  /** One change of an owner's namespace at a time. */
  namespaces: KeyedMutex;
  /** One write of an item at a time, where the rules of `auth.path` are asked about it. */
  items: KeyedMutex;
}

/** The shared locks of a new server. */
export function createSharedLocks(): SharedLocks {
  return { changes: new CurrentChanges(), namespaces: new KeyedMutex(), items: new KeyedMutex() };
}
