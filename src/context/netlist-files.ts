import { readNetlist } from "./netlist.ts";
import { readWorkspaceText, type WorkspaceText } from "./workspace/workspace-text.ts";

/** Files that are remembered, and characters of all of them together. */
const [mostFiles, mostCharacters] = [100, 8_000_000];

/** A file of a circuit, and what it includes, as it names it. */
export interface NetlistFile extends WorkspaceText {
  includes: readonly string[];
}

/** Files of circuits as they were read last: one that has not changed since is neither read nor parsed again. */
export interface NetlistFiles {
  /** `isChanged`: somebody knows that the file has changed. Throws as `readWorkspaceText` does. */
  read(workspace: string, path: string, options: { isChanged: boolean; signal: AbortSignal }): Promise<NetlistFile>;
}

/** Remembers nothing yet. The file longest unused is forgotten first. */
export function createNetlistFiles(): NetlistFiles {
  const known = new Map<string, NetlistFile>();
  let characters = 0;
  const forget = (key: string): void => {
    characters -= known.get(key)?.text.length ?? 0;
    known.delete(key);
  };
  return {
    async read(workspace, path, { isChanged, signal }) {
      const key = `${workspace}\n${path}`;
      const before = isChanged ? undefined : known.get(key);
      const read = await readWorkspaceText(workspace, path, signal, before);
      const file = before !== undefined && read === before ? before : withIncludes(read);
      forget(key);
      known.set(key, file);
      characters += file.text.length;
      for (const oldest of known.keys()) {
        if (known.size <= mostFiles && characters <= mostCharacters) break;
        forget(oldest);
      }
      return file;
    },
  };
}

function withIncludes(file: WorkspaceText): NetlistFile {
  return { ...file, includes: readNetlist(file.text).includes.map(({ path }) => path) };
}
