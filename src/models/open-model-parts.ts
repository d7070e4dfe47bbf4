import type { Config } from "@millrace/engine/config/config";
import type { Logger } from "@millrace/engine/logger";
import type { CustomParts } from "@millrace/engine/manifest/custom-parts";
import type { Prompts } from "../prompts/prompts.ts";
import type { Storage } from "@millrace/engine/storage/storage";
import { openWeb } from "../web/open-web.ts";
import { createModelLoader } from "./load-model.ts";
import { ModelServices } from "./resilience/model-services.ts";
import { openOllama, tellOllama } from "./ollama/open-ollama.ts";
import { openItemIndex } from "./open-item-index.ts";
import { openModels } from "./registry/registry.ts";

/** What models need of the other parts of a server. */
interface Needed {
  custom: Pick<CustomParts, "index">;
  items: Storage["items"];
  prompts: Prompts;
  logger: Logger;
}

/** What is known of models, the local service that has some, and what stands around requests to all of them. */
export function openModelParts(config: Config, { custom, items, prompts, logger }: Needed) {
  const models = openModels(config, logger);
  const index = openItemIndex(custom.index, models, logger);
  if (index !== undefined) items.useIndex(index);
  const ollama = openOllama(models, logger);
  const modelServices = new ModelServices({ onEnd: tellOllama(ollama) });
  const loadModel = createModelLoader(config, { models, prompts, services: modelServices });
  const webOf = (web: Config["web"]) => openWeb(web, () => models.storedKeys());
  return { models, ollama, modelServices, lentModel: { loadModel, models, prompts }, webOf };
}
