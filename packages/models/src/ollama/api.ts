import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";

/** Where a service of Ollama is asked, and for how long. */
export interface OllamaPlace {
  /** Without a path. */
  address: string;
  signal: AbortSignal;
  fetch?: typeof fetch | undefined;
}

const Details = z
  .object({
    family: z.string().optional().catch(undefined),
    parameter_size: z.string().optional().catch(undefined),
    quantization_level: z.string().optional().catch(undefined),
  })
  .catch({});

const Listed = z.object({
  name: z.string().min(1),
  size: z.number().nonnegative().catch(0),
  digest: z.string().optional().catch(undefined),
  modified_at: z.string().optional().catch(undefined),
  details: Details,
});
/** One installed model as the list has it. */
export type ListedModel = z.infer<typeof Listed>;

const Shown = z.object({
  details: Details,
  model_info: z.record(z.string(), z.unknown()).catch({}),
  capabilities: z.array(z.string()).optional().catch(undefined),
  parameters: z.string().catch(""),
});

/** What the service says of one model. */
export interface ShownModel {
  details: z.infer<typeof Details>;
  /** Such as completion, tools, vision, thinking, embedding; servers before 0.6.4 do not say. */
  capabilities: string[] | undefined;
  /** Tokens that the model was made for. */
  contextLength: number | undefined;
  /** Tokens that its file asks for. */
  window: number | undefined;
}

const Running = z.object({
  name: z.string().min(1),
  size: z.number().nonnegative().catch(0),
  size_vram: z.number().nonnegative().catch(0),
  context_length: z.number().positive().nullable().catch(null),
  expires_at: z.string().nullable().catch(null),
});
/** A model that is in memory now. */
export type RunningModel = z.infer<typeof Running>;

const Version = z.object({ version: z.string() });
/** Of many models; an entry that cannot be read is left out. */
const listOf = <Row extends z.ZodType>(row: Row) =>
  z.object({ models: z.array(row.nullable().catch(null)).nullable() });

/** The version of the service that listens there. Throws what `toModelError` reads, as all of these do. */
export async function readVersion(place: OllamaPlace): Promise<string> {
  return (await ask(Version, "/api/version", place)).version;
}

/** The models that are installed. */
export async function listInstalled(place: OllamaPlace): Promise<ListedModel[]> {
  const { models } = await ask(listOf(Listed), "/api/tags", place);
  return (models ?? []).filter((model) => model !== null);
}

/** The models that are in memory now. */
export async function listRunning(place: OllamaPlace): Promise<RunningModel[]> {
  const { models } = await ask(listOf(Running), "/api/ps", place);
  return (models ?? []).filter((model) => model !== null);
}

/** What the service knows of a model; one that is not installed is refused with 404. */
export async function showModel(name: string, place: OllamaPlace): Promise<ShownModel> {
  const { details, capabilities, model_info, parameters } = await ask(Shown, "/api/show", place, { model: name });
  const length = Object.entries(model_info).find(([field]) => field.endsWith(".context_length"))?.[1];
  const window = /^num_ctx\s+(\d{1,9})$/mu.exec(parameters)?.[1];
  return {
    details,
    capabilities,
    contextLength: typeof length === "number" && length > 0 ? length : undefined,
    window: window === undefined ? undefined : Number(window),
  };
}

async function ask<Schema extends z.ZodType>(
  schema: Schema,
  path: string,
  { address, signal, fetch: send = fetch }: OllamaPlace,
  body?: object,
): Promise<z.infer<Schema>> {
  const answer = await send(`${address.replace(/\/+$/u, "")}${path}`, {
    ...(body === undefined
      ? {}
      : { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    redirect: "error",
    signal,
  });
  const text = await answer.text();
  if (!answer.ok) throw Object.assign(new Error(text.slice(0, 300)), { status: answer.status });
  const read = schema.safeParse(parsed(text));
  if (read.success) return read.data;
  throw new AppError("server", `What answers at ${address}${path} does not speak like Ollama: ${text.slice(0, 80)}`, {
    suggestion: "Check the address: OLLAMA_BASE_URL, or base_url of the provider ollama.",
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
