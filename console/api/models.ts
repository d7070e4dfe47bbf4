import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request } from "./client.ts";
import { queryClient } from "./threads.ts";

const Provider = z.object({
  name: z.string(),
  title: z.string(),
  needs_key: z.boolean(),
  is_local: z.boolean(),
  base_url: z.nullable(z.string()),
  key: z.nullable(z.object({ name: z.string(), is_set: z.boolean() })),
  usual_model: z.nullable(z.string()),
});
/** A vendor of models, or a program on this machine that has some. */
export type Provider = z.infer<typeof Provider>;

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
const Recommended = z.array(z.object({ name: z.string(), about: z.string(), command: z.string() }));

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
      return { state, models: installed.models.filter((model) => model.can_chat), recommended };
    },
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
const Roles = z.object({ roles: z.record(z.string(), z.string()) });

/** Stores a key, where one is given, and asks a model a short question. */
export async function tryModel(model: string, key: string): Promise<ModelVerdict> {
  const provider = model.slice(0, model.indexOf(":"));
  if (key !== "") await perform(`/providers/${encodeURIComponent(provider)}/key`, { method: "PUT", body: { key } });
  return request(`/models/${encodeURIComponent(model)}/test`, Verdict, { method: "POST" });
}

/** Makes a model the one that answers; the others keep their roles. */
export async function answerWith(model: string): Promise<void> {
  const { roles } = await request("/models", Roles);
  await perform("/models/roles", { method: "PUT", body: { ...roles, main: model } });
  await Promise.all(["models", "providers"].map((key) => queryClient.invalidateQueries({ queryKey: [key] })));
}
