import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { request } from "../client.ts";

const Agent = z.object({
  name: z.string(),
  description: z.string(),
  tools: z.nullable(z.array(z.string())),
  model: z.nullable(z.string()),
  include_rules: z.boolean(),
  path: z.string(),
  prompt: z.string(),
});
/** An agent that work can be handed to. */
export type Agent = z.infer<typeof Agent>;

/** All agents of the workspace and of the user's home. */
export function useAgents() {
  return useQuery({
    queryKey: ["agents"],
    queryFn: ({ signal }) => request("/agents", z.array(Agent), { signal }),
  });
}

const Rule = z.object({
  path: z.string(),
  scope: z.enum(["project", "user"]),
  description: z.string(),
  globs: z.array(z.string()),
  holds: z.enum(["always", "for_files", "on_request"]),
  content: z.string(),
});
/** What the user wants the assistant to keep to. */
export type Rule = z.infer<typeof Rule>;

const Rules = z.object({
  rules: z.array(Rule),
  warnings: z.array(z.object({ file: z.string(), problem: z.string() })),
});

/** All rules, and what is wrong with their files. */
export function useRules() {
  return useQuery({ queryKey: ["rules"], queryFn: ({ signal }) => request("/rules", Rules, { signal }) });
}
