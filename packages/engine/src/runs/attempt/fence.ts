import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

/**
 * One attempt's way to the checkpoints. LangGraph lets go of its caller at an abort while steps that have not noticed
 * still run; what those would write after `close` is dropped, so that it cannot come after what the stop has written.
 */
export interface Fence {
  saver: BaseCheckpointSaver;
  /** Drops every later write, and resolves when those that have begun are over, well or not. */
  close(): Promise<void>;
}

/** A fence before `saver`, open. */
export function createFence(saver: BaseCheckpointSaver): Fence {
  const begun = new Set<Promise<unknown>>();
  let isClosed = false;
  const follow = <Result>(write: Promise<Result>): Promise<Result> => {
    const followed = write.finally(() => begun.delete(followed));
    begun.add(followed);
    return followed;
  };
  const put: BaseCheckpointSaver["put"] = async (config, checkpoint, metadata, versions) => {
    if (!isClosed) return await follow(saver.put(config, checkpoint, metadata, versions));
    return { configurable: { ...config.configurable, checkpoint_id: checkpoint.id } };
  };
  const putWrites: BaseCheckpointSaver["putWrites"] = async (config, writes, taskId, ...path) => {
    if (!isClosed) await follow(saver.putWrites(config, writes, taskId, ...path));
  };
  return {
    saver: new Proxy(saver, {
      get(target, key) {
        if (key === "put") return put;
        if (key === "putWrites") return putWrites;
        const value: unknown = Reflect.get(target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    }),
    async close() {
      isClosed = true;
      await Promise.allSettled(begun);
    },
  };
}
