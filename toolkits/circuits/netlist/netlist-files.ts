import { LRUCache } from "lru-cache";
import { readNetlist } from "./netlist.ts";
import { readWorkspaceText, type WorkspaceText } from "../../../src/context/workspace/workspace-text.ts";

/** Files that are remembered, and characters of all of them together. */
const [mostFiles, mostCharacters] = [100, 8_000_000];

/** A file of a circuit, and what it includes, as it names it. */
export interface NetlistFile extends WorkspaceText {
  includes: readonly string[];
}

/** Files of circuits as they were read last: one that has not changed since is neither read nor parsed again. */
export interface NetlistFiles {
  /** `isChanged`: the file is known to have changed. Throws as `readWorkspaceText` does. */
  read(workspace: string, path: string, options: { isChanged: boolean; signal: AbortSignal }): Promise<NetlistFile>;
}

/** Remembers nothing yet. The file longest unused is forgotten first. */
export function createNetlistFiles(): NetlistFiles {
  const known = new LRUCache<string, NetlistFile>({
    max: mostFiles,
    maxSize: mostCharacters,
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
