import { join } from "node:path";
import type { Storage } from "@millrace/engine/storage/storage";
import { crashCopy } from "./crash-copy.ts";

/** A storage that copies its file after each thing the checkpointer writes: what a crash at that moment leaves. */
export function withCopies(storage: Storage, folder: string, copied: (path: string) => void): Storage {
  let count = 0;
  const follow =
    (write: (...args: never[]) => Promise<unknown>) =>
    async (...args: never[]): Promise<unknown> => {
      const result = await write(...args);
      copied(crashCopy(folder, join(folder, `copy-${count++}`)));
      return result;
    };
  return {
    ...storage,
    checkpointerWith(events) {
      const saver = storage.checkpointerWith(events);
      const followed: Record<PropertyKey, unknown> = {
        put: follow(saver.put.bind(saver)),
        putWrites: follow(saver.putWrites.bind(saver)),
      };
      return new Proxy(saver, {
        get: (target, key) => {
          if (key in followed) return followed[key];
          const value: unknown = Reflect.get(target, key);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    },
  };
}
