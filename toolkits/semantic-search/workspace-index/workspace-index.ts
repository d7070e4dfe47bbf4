import { unlessAborted } from "@millrace/engine/concurrency/abort";
import { KeyedMutex } from "@millrace/engine/concurrency/by-key";
import type { IndexLimits } from "@millrace/engine/config/tool-settings";
import { AppError } from "@millrace/engine/errors/errors";
import { type Cluster, singleServer } from "@millrace/engine/storage/cluster";
import type { FoundPiece, TextIndexStore } from "@millrace/engine/storage/items/text-index";
import type { EmbeddingRole } from "@millrace/models/embeddings";
import type { Toolkit, ToolkitServer } from "../../../src/toolkits/toolkit.ts";
import { ServiceKey } from "../../../src/tools/runtime/toolkit-services.ts";
import { notFound } from "../../../src/tools/workspace/file-access.ts";
import { locate } from "../../../src/tools/workspace/workspace-path.ts";
import { toUnit } from "./embed-pieces.ts";
import { cutRules } from "./pieces.ts";
import type { ReadContext } from "./text-files.ts";
import { type IndexUpdate, updateIndex } from "./update-index.ts";

/**
 * Milliseconds after which a search embeds no further file, and the maximum wait for other searches: longer than a call's
 * timeout.
 */
const [embeddingTime, maxWaitMs] = [40_000, 150_000];

/** The results of a search, and the state of the index. */
export interface SearchResult {
  hits: FoundPiece[];
  update: IndexUpdate;
  limits: IndexLimits;
}

/** Semantic search over pieces of the workspace's files. */
export interface WorkspaceIndex {
  /** Whether there is an embedding model. */
  isOn(): boolean;
  /**
   * The nearest pieces at a path, after embedding changed files there. Throws `not_found` for a path, the model's error
   * if nothing can be searched, and the signal's reason.
   */
  search(wanted: { query: string; path: string; limit: number }, context: ReadContext): Promise<SearchResult>;
}

/** The service's key. */
export const workspaceIndexKey = new ServiceKey<WorkspaceIndex>("workspace_index");

/** Whether the server has an embedding model. */
export const isAvailable: NonNullable<Toolkit["isAvailable"]> = ({ services }) =>
  services.find(workspaceIndexKey)?.isOn() ?? false;

/** Opens the server's index, if it has storage. */
export function openWorkspaceIndex({ config, storage, embedding, services }: ToolkitServer): undefined {
  const { textIndex: store, cluster = singleServer } = storage;
  if (store === undefined || embedding === undefined) return;
  services.add(workspaceIndexKey, workspaceIndexOf({ store, cluster }, embedding, config.index));
}

function workspaceIndexOf(
  { store, cluster }: { store: TextIndexStore; cluster: Pick<Cluster, "workspace" | "serverCount"> },
  embedding: EmbeddingRole,
  limits: IndexLimits,
): WorkspaceIndex {
  // Concurrent searches would embed the same files twice.
  const mutex = new KeyedMutex(maxWaitMs);
  return {
    isOn: () => embedding.model() !== undefined,
    async search({ query, path, limit }, context) {
      const { workspace, signal } = context;
      const start = await locate(workspace, path);
      if (start.kind === "missing") throw await notFound(workspace, start);
      const until = performance.now() + embeddingTime;
      // Embed the query first: if that fails, so would the files.
      const [numbers = []] = await embedding.embed([query], signal);
      // At another server the same path may be another folder, and another path the same one.
      const folder = cluster.workspace ?? workspace;
      const index = JSON.stringify([folder, embedding.model(), numbers.length, cutRules]);
      const ofFolder = `${JSON.stringify([folder]).slice(0, -1)},`;
      const parts = { store, index, embed: embedding.embed, limits, until };
      const updating = mutex.run(workspace, async () => {
        signal.throwIfAborted();
        await store.removeOthers(index, cluster.serverCount > 1 ? ofFolder : undefined);
        return await updateIndex(parts, context, start);
      });
      const update = await unlessAborted(updating, signal);
      const wanted = { vector: toUnit(numbers), path: start.path === "." ? null : start.path, limit };
      const hits = await store.search(index, wanted, signal);
      if (hits.length === 0 && update.problem !== undefined) throw withoutIndex(update.problem);
      return { hits, update, limits };
    },
  };
}

function withoutIndex({ code, message, suggestion, recoverable }: AppError): AppError {
  return new AppError(code, `The files could not be made searchable by meaning. ${message}`, {
    suggestion: `${suggestion === undefined ? "" : `${suggestion} `}search_content finds words exactly meanwhile.`,
    recoverable,
  });
}
