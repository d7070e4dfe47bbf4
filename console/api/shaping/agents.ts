import { useQuery } from "@tanstack/react-query";
import * as z from "zod/mini";
import { perform, request } from "../client.ts";
import { queryClient } from "../threads.ts";

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

/** What a file makes: a rule or an agent. */
export type OwnKind = "rules" | "agents";

const Verdict = z.object({
  valid: z.boolean(),
  problems: z.array(
    z.object({ severity: z.enum(["error", "warning"]), message: z.string(), line: z.nullable(z.number()) }),
  ),
  tools: z.nullable(z.array(z.string())),
});
const OwnFile = z.extend(Verdict, { path: z.string(), text: z.string(), etag: z.string() });
/** The file of a rule or an agent. */
export type OwnFile = z.infer<typeof OwnFile>;

const addressOf = (kind: OwnKind, name: string): string => `/${kind}/${encodeURIComponent(name)}`;

/** The file of a rule, by its path, or of an agent, by its name; asked for when it is to be changed. */
export function useOwnFile(kind: OwnKind, name: string, enabled: boolean) {
  return useQuery({
    queryKey: ["own-file", kind, name],
    queryFn: ({ signal }) => request(addressOf(kind, name), OwnFile, { signal }),
    enabled,
    retry: false,
  });
}

/** What the server says of a text for it. */
export function useOwnVerdict(kind: OwnKind, name: string, text: string) {
  return useQuery({
    queryKey: ["own-verdict", kind, name, text],
    queryFn: ({ signal }) =>
      request(`${addressOf(kind, name)}/validate`, Verdict, { method: "POST", body: { text }, signal }),
    placeholderData: (before) => before,
  });
}

/** Writes the file in place of a version of it, or as a new one. Throws `ApiError` 412 where another one is there. */
export async function saveOwnFile(kind: OwnKind, name: string, text: string, etag: string): Promise<OwnFile> {
  const headers = { ...(etag !== "" && { "If-Match": etag }) };
  const saved = await request(addressOf(kind, name), OwnFile, { method: "PUT", body: { text }, headers });
  await readOwnFilesAgain();
  return saved;
}

/** Deletes the file that is still as it is known. */
export async function deleteOwnFile(kind: OwnKind, name: string, etag: string): Promise<void> {
  await perform(addressOf(kind, name), { method: "DELETE", headers: { "If-Match": etag } });
  await readOwnFilesAgain();
}

async function readOwnFilesAgain(): Promise<void> {
  const keys = ["agents", "rules", "own-file"];
  await Promise.all(keys.map((key) => queryClient.invalidateQueries({ queryKey: [key] })));
}
