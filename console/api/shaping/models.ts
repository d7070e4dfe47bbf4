import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request, type RequestOptions } from "../client.ts";
import { queryClient } from "../threads.ts";

/** What the server says of a key, which it never shows. */
export const StoredKey = z.object({
  name: z.string(),
  is_set: z.boolean(),
  source: z.nullable(z.enum(["file", "environment"])),
  shown: z.nullable(z.string()),
});
/** What the server says of a key. */
export type StoredKey = z.infer<typeof StoredKey>;

const Provider = z.object({
  name: z.string(),
  title: z.string(),
  is_built_in: z.boolean(),
  needs_key: z.boolean(),
  is_local: z.boolean(),
  base_url: z.nullable(z.string()),
  key: z.nullable(StoredKey),
  usual_model: z.nullable(z.string()),
  llm_last_verified_at: z.nullable(z.string()),
});
/** A vendor of models, or a program on this machine that has some. */
export type Provider = z.infer<typeof Provider>;

const Model = z.object({
  name: z.string(),
  provider: z.string(),
  own: z.nullable(z.record(z.string(), z.unknown())),
  profile: z.object({
    display_name: z.string(),
    context: z.number(),
    output: z.number(),
    thinking: z.string(),
    vision: z.boolean(),
    tool_calls: z.string(),
    structured_output: z.string(),
    price: z.nullable(z.object({ input: z.number(), output: z.number(), currency: z.string() })),
  }),
  roles: z.array(z.string()),
  has_what_it_needs: z.boolean(),
  llm_last_verified_at: z.nullable(z.string()),
});
/** A model with what it can do and what it is used for. */
export type Model = z.infer<typeof Model>;
const Known = z.object({
  models: z.array(Model),
  roles: z.record(z.string(), z.string()),
  problem: z.nullable(z.string()),
});

/** What models are used for, the most frequent first. */
export const roleNames = ["main", "intent", "plan", "compress", "titles", "vision", "fallback", "embedding"] as const;

/** All models that are known, and what each is used for. */
export function useKnownModels() {
  return useQuery({
    queryKey: ["models", "known"],
    queryFn: ({ signal }) => request("/models", Known, { signal }),
  });
}

/** One model, also one that no list has. */
export function useModel(name: string) {
  return useQuery({
    queryKey: ["models", "one", name],
    queryFn: ({ signal }) => request(`/models/${encodeURIComponent(name)}`, Model, { signal }),
  });
}

/** All providers that are reached over the network. */
export function useProviders() {
  return useQuery({
    queryKey: ["providers"],
    queryFn: async ({ signal }) =>
      (await request("/providers", z.array(Provider), { signal })).filter(({ base_url }) => base_url !== null),
  });
}

const Ollama = z.object({ status: z.string(), message: z.string(), suggestion: z.nullable(z.string()) });
const Installed = z.object({
  models: z.array(z.object({ model: z.string(), title: z.string(), can_chat: z.boolean() })),
});
const Recommended = z.array(
  z.object({ name: z.string(), about: z.string(), command: z.string(), is_installed: z.boolean() }),
);
const Running = z.object({
  models: z.array(
    z.object({ name: z.string(), size: z.number(), size_vram: z.number(), expires_at: z.nullable(z.string()) }),
  ),
});

/** The models of a local Ollama, and what to do where it does not run or has none. */
export function useOllama(enabled: boolean) {
  return useQuery({
    enabled,
    queryKey: ["ollama"],
    queryFn: async ({ signal }) => {
      const [state, installed, recommended] = await Promise.all([
        request("/ollama", Ollama, { signal }),
        request("/ollama/models", Installed, { signal }),
        request("/ollama/recommended", Recommended, { signal }),
      ]);
      return { state, all: installed.models, models: installed.models.filter((model) => model.can_chat), recommended };
    },
  });
}

/** The models of a local Ollama that are in memory. */
export function useOllamaRunning() {
  return useQuery({
    queryKey: ["ollama", "running"],
    queryFn: async ({ signal }) => (await request("/ollama/running", Running, { signal })).models,
  });
}

const Verdict = z.object({
  ok: z.boolean(),
  message: z.string(),
  suggestion: z.nullable(z.string()),
  milliseconds: z.number(),
});
/** Whether a model answers, and why not. */
export type ModelVerdict = z.infer<typeof Verdict>;

/** Asks a model a short question. */
export function testModel(model: string): Promise<ModelVerdict> {
  return request(`/models/${encodeURIComponent(model)}/test`, Verdict, { method: "POST" });
}

/** Stores a key, where one is given, and asks a model a short question. */
export async function tryModel(model: string, key: string): Promise<ModelVerdict> {
  const provider = model.slice(0, model.indexOf(":"));
  if (key !== "") await perform(`/providers/${encodeURIComponent(provider)}/key`, { method: "PUT", body: { key } });
  return testModel(model);
}

/** Makes a model the one that answers; the others keep their roles. */
export async function answerWith(model: string): Promise<void> {
  const { roles } = await request("/models", Known);
  await setRoles({ ...roles, main: model });
}

/** Says which model is used for what; what is left out has none of its own. */
export async function setRoles(roles: Readonly<Record<string, string>>): Promise<void> {
  await changed("/models/roles", { method: "PUT", body: roles });
}

/** Puts a model on the list, so that a chat can choose it. */
export async function addModel(name: string): Promise<void> {
  const { models } = await request("/models", Known);
  if (!models.some((model) => model.name === name)) await changed("/models", { method: "POST", body: { name } });
}

/** Notes more of a model, or that there is one. */
export async function describeModel({ name, own }: Pick<Model, "name" | "own">, part: object): Promise<void> {
  if (own === null) await changed("/models", { method: "POST", body: { name, ...part } });
  else await changed(`/models/${encodeURIComponent(name)}`, { method: "PATCH", body: part });
}

/** Takes back what was noted of a model. */
export async function forgetModel(name: string): Promise<void> {
  await changed(`/models/${encodeURIComponent(name)}`, { method: "DELETE" });
}

/** Stores the key of a vendor; without one the stored key is forgotten. */
export async function setVendorKey(vendor: string, key?: string): Promise<void> {
  const path = `/providers/${encodeURIComponent(vendor)}/key`;
  await changed(path, key === undefined ? { method: "DELETE" } : { method: "PUT", body: { key } });
}

/** Says where a vendor is reached, or adds one of one's own; `key` is the name of its key. */
export async function setVendor(vendor: string, setting: { base_url: string; key?: string }): Promise<void> {
  await changed(`/providers/${encodeURIComponent(vendor)}`, { method: "PUT", body: setting });
}

/** Takes back what was said of a vendor: one that is built in is as it was. */
export async function forgetVendor(vendor: string): Promise<void> {
  await changed(`/providers/${encodeURIComponent(vendor)}`, { method: "DELETE" });
}

const Service = z.object({
  model: z.string(),
  state: z.enum(["closed", "open", "half_open"]),
  statistics: z.object({
    calls: z.number(),
    succeeded: z.number(),
    failed: z.number(),
    mean_duration_ms: z.nullable(z.number()),
    mean_first_token_ms: z.nullable(z.number()),
  }),
});

/** How the requests to all models went since the server began. */
export function useModelStatistics() {
  return useQuery({
    queryKey: ["models", "statistics"],
    queryFn: ({ signal }) => request("/statistics/models", z.array(Service), { signal }),
  });
}

async function changed(path: string, options: RequestOptions): Promise<void> {
  await perform(path, options);
  await Promise.all(
    ["models", "providers", "settings"].map((key) => queryClient.invalidateQueries({ queryKey: [key] })),
  );
}
