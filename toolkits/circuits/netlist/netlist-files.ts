import { LRUCache } from "lru-cache";
import { readNetlist } from "./netlist.ts";
import { readWorkspaceText, type WorkspaceText } from "../../../src/context/workspace/workspace-text.ts";

/** Maximum files cached, and their total characters. */
const [maxFiles, maxCharacters] = [100, 8_000_000];

/** A circuit file, with its includes as written. */
export interface NetlistFile extends WorkspaceText {
  includes: readonly string[];
}

/** A cache of circuit files: an unchanged file is neither read nor parsed again. */
export interface NetlistFiles {
  /** `isChanged`: the file is known to have changed. Throws as `readWorkspaceText`. */
  read(workspace: string, path: string, options: { isChanged: boolean; signal: AbortSignal }): Promise<NetlistFile>;
}

/** An empty LRU cache. */
export function createNetlistFiles(): NetlistFiles {
  const known = new LRUCache<string, NetlistFile>({
    max: maxFiles,
    maxSize: maxCharacters,
    sizeCalculation: ({ text }) => text.length || 1,
  });
  return {
    async read(workspace, path, { isChanged, signal }) {
      const key = `${workspace}\n${path}`;
      const before = isChanged ? undefined : known.get(key);
      const read = await readWorkspaceText(workspace, path, signal, before);
      const file = before !== undefined && read === before ? before : withIncludes(read);
      known.set(key, file);
      return file;
    },
  };
}

function withIncludes(file: WorkspaceText): NetlistFile {
  return { ...file, includes: readNetlist(file.text).includes.map(({ path }) => path) };
}
