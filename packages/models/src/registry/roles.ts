import { z } from "zod";
import { ModelName } from "./model-profile.ts";

/**
 * The roles of models: `main` answers; `intent` classifies messages, `plan` writes plans, `compress` writes summaries,
 * `titles` names sessions, `vision` describes images, `fallback` replaces a failing main model, `embedding` embeds
 * texts. Without its own model a role uses the main one, except `embedding`.
 */
export const modelRoles = ["main", "intent", "plan", "compress", "titles", "vision", "fallback", "embedding"] as const;
export type ModelRole = (typeof modelRoles)[number];

/** Models by role. */
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

/** The server's models by role: `main` is always set. */
export type ServerRoles = Roles & { main: string };

/** The roles needed for every message, which always have a model. */
export type WorkingRole = Exclude<ModelRole, "titles" | "vision" | "fallback" | "embedding">;

/**
 * The model of a role, by precedence: the run's for the role, the server's for the role, the run's main model
 * (`context.model`), the server's.
 */
export function modelOfRole(role: WorkingRole, run: Roles, server: ServerRoles): string {
  return run[role] ?? (role === "main" ? undefined : server[role]) ?? run.main ?? server.main;
}
