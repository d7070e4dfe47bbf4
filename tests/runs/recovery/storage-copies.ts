import { join } from "node:path";
import type { Storage } from "@millrace/engine/storage/storage";
import { withAttempts, withWrites } from "../../support/test-storage.ts";
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
  return withAttempts(storage, (store) => ({
    checkpointer: (events) => withWrites(store.checkpointer(events), follow),
  }));
}
