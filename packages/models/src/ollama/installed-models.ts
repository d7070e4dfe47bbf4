import { listInstalled, showModel, type ListedModel, type OllamaPlace, type ShownModel } from "./api.ts";
import { installedModel, type InstalledModel } from "./installed-model.ts";

/** The installed models by name; `digest` says whether one has changed. */
export type KnownModels = ReadonlyMap<string, { digest: string; model: InstalledModel }>;

/** Models that are looked at; more is no list to choose from. */
const mostModels = 200;
/** Models that are asked about at once. */
const atOnce = 4;

/** Reads which models are there. Only new and changed ones are asked about; gives `before` itself where nothing has changed. */
export async function readInstalled(place: OllamaPlace, before: KnownModels): Promise<KnownModels> {
  const listed = (await listInstalled(place)).slice(0, mostModels);
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

/** One that cannot be asked about goes by its name: the others are there all the same. */
async function shownOf(name: string, place: OllamaPlace): Promise<ShownModel | undefined> {
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
