import type { DefaultTimes } from "../config/default-times.ts";
import type { Storage } from "./storage.ts";

/** A storage whose new items and sessions have these times. What is there already keeps what it has. */
export function withDefaultTimes(storage: Storage, times: DefaultTimes): Storage {
  const { items, sessions } = storage;
  const { ttl, refresh } = times.items;
  const ofSessions = times.sessions;
  return {
    ...storage,
    items: {
      ...items,
      change: (owner, changes, embeds) =>
        items.change(
          owner,
          changes.map((change) => (change.ttl === undefined ? { ...change, ttl } : change)),
          embeds,
        ),
      get: (owner, namespace, key, wanted = refresh) => items.get(owner, namespace, key, wanted),
      search: (owner, query) => items.search(owner, { ...query, refresh: query.refresh ?? refresh }),
    },
    sessions:
      ofSessions === null
        ? sessions
        : {
            ...sessions,
            create: (session, ttl = ofSessions) => sessions.create(session, ttl),
          },
  };
}
