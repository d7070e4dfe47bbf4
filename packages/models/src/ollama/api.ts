import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";

/** An Ollama service's address, and the timeout. */
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
/** An installed model in the list. */
export type ListedModel = z.infer<typeof Listed>;

const Shown = z.object({
  details: Details,
  model_info: z.record(z.string(), z.unknown()).catch({}),
  capabilities: z.array(z.string()).optional().catch(undefined),
  parameters: z.string().catch(""),
});

/** The details of one model. */
export interface ModelDetails {
  details: z.infer<typeof Details>;
  /** For example completion, tools, vision, thinking, embedding; missing before server version 0.6.4. */
  capabilities: string[] | undefined;
  /** The context length the model was trained for. */
  contextLength: number | undefined;
  /** The context length its file requests. */
  window: number | undefined;
}

const Running = z.object({
  name: z.string().min(1),
  size: z.number().nonnegative().catch(0),
  size_vram: z.number().nonnegative().catch(0),
  context_length: z.number().positive().nullable().catch(null),
  expires_at: z.string().nullable().catch(null),
});
/** A loaded model. */
export type RunningModel = z.infer<typeof Running>;

const Version = z.object({ version: z.string() });
/** A list; unreadable entries are dropped. */
const listOf = <Row extends z.ZodType>(row: Row) =>
  z.object({ models: z.array(row.nullable().catch(null)).nullable() });

/** The service's version. Throws errors that `toModelError` understands, as all of these do. */
export async function readVersion(place: OllamaPlace): Promise<string> {
  return (await ask(Version, "/api/version", place)).version;
}

/** The installed models. */
export async function listInstalled(place: OllamaPlace): Promise<ListedModel[]> {
  const { models } = await ask(listOf(Listed), "/api/tags", place);
  return (models ?? []).filter((model) => model !== null);
}

/** The loaded models. */
export async function listRunning(place: OllamaPlace): Promise<RunningModel[]> {
  const { models } = await ask(listOf(Running), "/api/ps", place);
  return (models ?? []).filter((model) => model !== null);
}

/** The details of a model; the service answers 404 for one that is not installed. */
export async function showModel(name: string, place: OllamaPlace): Promise<ModelDetails> {
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
