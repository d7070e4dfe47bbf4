import type { Assistant } from "../storage/records.ts";
import type { Storage } from "../storage/storage.ts";
import type { Graphs } from "./load.ts";

/**
 * An assistant by its id or by its graph's id: as users left it, else as its graph has it by itself. `undefined` when
 * there is none.
 */
export async function findAssistant(
  { assistants }: { assistants: Pick<Storage["assistants"], "get"> },
  graphs: Pick<Graphs, "findAssistant">,
  idOrGraphId: string,
): Promise<Assistant | undefined> {
  const own = graphs.findAssistant(idOrGraphId);
  return (await assistants.get(own?.assistant_id ?? idOrGraphId)) ?? own;
}
