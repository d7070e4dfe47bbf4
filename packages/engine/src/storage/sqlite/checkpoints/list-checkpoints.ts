import { isDeepStrictEqual } from "node:util";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointListOptions, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { AppError } from "../../../errors/errors.ts";
import { packId, type CheckpointStore } from "./checkpoint-store.ts";
import { metadataOf, tupleOf } from "./checkpoints.ts";
import { Reader } from "../events/reader.ts";

interface FoundRow {
  key: number;
  thread_id: string;
  ns: string;
}

/** Of a thread in which ids are not in the order of its states. */
const writtenBefore = `checkpoint_rows.key < (SELECT other.key FROM checkpoint_rows AS other
  WHERE other.namespace = checkpoint_rows.namespace AND other.id = ?)`;

/** The rows a listing may show, newest first. Keys only: rows are read one by one, since readers may stop early. */
function findRows(store: CheckpointStore, config: RunnableConfig, before: unknown): FoundRow[] {
  const conditions = ["data IS NOT NULL"];
  const values: unknown[] = [];
  const { thread_id: threadId, checkpoint_ns: name, checkpoint_id: id } = config.configurable ?? {};
  const clockWentBack = typeof threadId === "string" && store.thread(threadId)?.clockWentBack === true;
  const restrict = (condition: string, value: unknown, pack: (text: string) => unknown = String): void => {
    if (value === undefined || value === null) return;
    if (typeof value !== "string" && typeof value !== "number") {
      throw new AppError(
        "invalid_parameter",
        `A listing of checkpoints wants text for "${condition}", got ${typeof value}.`,
      );
    }
    conditions.push(condition);
    values.push(pack(String(value)));
  };
  restrict("thread_id = ?", threadId);
  restrict("ns = ?", name);
  restrict("id = ?", id === "" ? undefined : id, packId);
  restrict(clockWentBack ? writtenBefore : "id < ?", before, packId);
  return store.database
    .prepare<FoundRow>(
      `SELECT checkpoint_rows.key, thread_id, ns FROM checkpoint_threads
       JOIN checkpoint_namespaces ON thread = checkpoint_threads.key
       JOIN checkpoint_rows ON namespace = checkpoint_namespaces.key
       WHERE ${conditions.join(" AND ")} ORDER BY ${clockWentBack ? "checkpoint_rows.key" : "id"} DESC`,
    )
    .all(...values);
}

function matches(metadata: object, filter: Record<string, unknown>): boolean {
  const fields = new Map<string, unknown>(Object.entries(metadata));
  return Object.entries(filter).every(
    ([key, value]) => value === undefined || isDeepStrictEqual(fields.get(key), value),
  );
}

/** The checkpoints of a thread (or of all), newest first. Messages that several of them show are the same objects. */
export async function* listCheckpoints(
  store: CheckpointStore,
  config: RunnableConfig,
  options: CheckpointListOptions,
): AsyncGenerator<CheckpointTuple> {
  const { filter = {}, before } = options;
  const rows = store.database.read(() => findRows(store, config, before?.configurable?.["checkpoint_id"]));
  let reader: Reader | undefined;
  let readerOf: string | undefined;
  for (const row of rows) {
    const state = store.database.read(() => store.thread(row.thread_id));
    if (state === undefined) continue;
    if (reader === undefined || readerOf !== row.thread_id) {
      reader = new Reader(store.database, row.thread_id, state.items);
      readerOf = row.thread_id;
    }
    const current = reader;
    const tuple = await current.build(() => {
      const snapshot = store.load(state, row.key);
      if (!matches(metadataOf(snapshot, current), filter)) return undefined;
      return tupleOf({ store, state, name: row.ns }, snapshot, current, false);
    });
    if (tuple !== undefined) yield tuple;
  }
}
