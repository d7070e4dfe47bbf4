import { z } from "zod";
import { ModelName } from "./model-profile.ts";

/**
 * What models work as: `main` answers; `intent` says what a message wants, `plan` writes plans, `compress` writes
 * summaries, `titles` names sessions, `vision` is asked about images, `fallback` where the main one cannot be, `embedding`
 * makes vectors of texts. Who has no model of its own has the main one, but for `embedding`.
 */
export const modelRoles = ["main", "intent", "plan", "compress", "titles", "vision", "fallback", "embedding"] as const;
export type ModelRole = (typeof modelRoles)[number];

/** The models of some roles. */
export const Roles = z.strictObject({
  main: ModelName.optional().describe("Who answers; else MILLRACE_MODEL"),
  intent: ModelName.optional().describe("Who says what a message wants"),
  plan: ModelName.optional().describe("Who writes plans"),
  compress: ModelName.optional().describe("Who writes summaries"),
  titles: ModelName.optional().describe("Who names threads; else MILLRACE_TITLE_MODEL, else a rule"),
  fallback: ModelName.optional().describe("Who is asked where the model in question cannot be; else nobody"),
  vision: ModelName.optional().describe("Who is asked about images; else the counterpart of the model in question"),
  embedding: ModelName.optional().describe("Who makes vectors of texts; else MILLRACE_EMBEDDING_MODEL, else nobody"),
});
export type Roles = z.infer<typeof Roles>;

/** What the server says of roles: `main` is always there. */
export type ServerRoles = Roles & { main: string };

/** The roles that work on every message, so that somebody has to have them. */
export type WorkingRole = Exclude<ModelRole, "titles" | "vision" | "fallback" | "embedding">;

/**
 * The model of a role: what the run says of the role goes first, then what the server says of it, then the run's main
 * model (`context.model`), then the server's.
 */
export function modelOfRole(role: WorkingRole, run: Roles, server: ServerRoles): string {
  return run[role] ?? (role === "main" ? undefined : server[role]) ?? run.main ?? server.main;
}
