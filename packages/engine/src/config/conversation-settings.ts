import { resolve } from "node:path";

/** How conversations are stored. */
export interface ConversationSettings {
  /** Absolute; `undefined`: the data folder. */
  folder: string | undefined;
  /** Sessions that are kept in memory at most, and for how long one that nobody uses is. */
  cachedSessions: number;
  cacheSeconds: number;
  /** How long what changes a session waits for what changes it before. */
  lockSeconds: number;
  /** Where a new thread becomes the current one; `undefined`: nowhere. */
  defaultNamespace: string | undefined;
}

/** What the environment says of it. */
export function conversationSettings(values: {
  CONVERSATION_STORAGE_PATH: string | undefined;
  CONVERSATION_MAX_CACHE_SIZE: number;
  CONVERSATION_CACHE_TTL: number;
  CONVERSATION_LOCK_TIMEOUT: number;
  CONVERSATION_DEFAULT_NAMESPACE?: string | undefined;
}): ConversationSettings {
  const { CONVERSATION_STORAGE_PATH: folder } = values;
  return {
    folder: folder === undefined ? undefined : resolve(folder),
    cachedSessions: values.CONVERSATION_MAX_CACHE_SIZE,
    cacheSeconds: values.CONVERSATION_CACHE_TTL,
    lockSeconds: values.CONVERSATION_LOCK_TIMEOUT,
    defaultNamespace: values.CONVERSATION_DEFAULT_NAMESPACE,
  };
}
