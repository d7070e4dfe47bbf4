import { listInstalled, showModel, type ListedModel, type OllamaPlace, type ModelDetails } from "./api.ts";
import { installedModel, type InstalledModel } from "./installed-model.ts";

/** The installed models by name; a changed `digest` means a changed model. */
export type KnownModels = ReadonlyMap<string, { digest: string; model: InstalledModel }>;

/** Models that are read; a longer list is useless to choose from. */
const maxModels = 200;
/** Concurrent detail requests. */
const atOnce = 4;

/**
 * Reads the installed models, with details of new and changed ones only; returns `before` itself if nothing changed.
 */
export async function readInstalled(place: OllamaPlace, before: KnownModels): Promise<KnownModels> {
  const listed = (await listInstalled(place)).slice(0, maxModels);
  const digests = new Map(listed.map((one) => [one.name, digestOf(one)]));
  const isSame = before.size === digests.size && [...digests].every(([name, is]) => before.get(name)?.digest === is);
  if (isSame) return before;
  const known = new Map<string, { digest: string; model: InstalledModel }>();
  for (let start = 0; start < listed.length; start += atOnce) {
    const some = listed.slice(start, start + atOnce);
    const read = await Promise.all(some.map(async (one) => [one.name, await readOne(one, place, before)] as const));
    for (const [name, model] of read) known.set(name, model);
  }
  return known;
}

async function readOne(
  listed: ListedModel,
  place: OllamaPlace,
  before: KnownModels,
): Promise<{ digest: string; model: InstalledModel }> {
  const digest = digestOf(listed);
  const known = before.get(listed.name);
  if (known?.digest === digest) return known;
  return { digest, model: installedModel(listed, await shownOf(listed.name, place)) };
}

/** Without details, a model is described by its name: the others remain available. */
async function shownOf(name: string, place: OllamaPlace): Promise<ModelDetails | undefined> {
  try {
    return await showModel(name, place);
  } catch {
    place.signal.throwIfAborted();
    return undefined;
  }
}

function digestOf({ digest, modified_at, size }: ListedModel): string {
  return `${digest ?? ""} ${modified_at ?? ""} ${size}`;
}
