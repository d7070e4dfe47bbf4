import { z } from "zod";
import { DelegationMode } from "../../agents/delegation.ts";

/** An agent and its task, copied when the call began: its file may change meanwhile. */
export const AssignedAgent = z.object({
  name: z.string(),
  task: z.string(),
  prompt: z.string(),
  /** Its tools; `null`: all of the caller's. */
  tools: z.array(z.string()).nullable(),
  model: z.string(),
  /** Whether it gets the user's rules; absent in data of older versions. */
  include_rules: z.boolean().optional(),
});
export type AssignedAgent = z.infer<typeof AssignedAgent>;

/** An agent's result. `cost` is `null` if no price is known; `duration_ms` excludes waiting for people. */
export const AgentReport = z.object({
  success: z.boolean(),
  end_reason: z.string(),
  reply: z.string(),
  iterations: z.number().int(),
  tokens: z.number().int(),
  cost: z.number().nullable(),
  duration_ms: z.number(),
});
export type AgentReport = z.infer<typeof AgentReport>;

const Reports = z.record(z.string(), AgentReport);

/** Work delegated by one call; stored, so that a crash repeats no finished agent. */
export const Delegation = z.object({
  call: z.object({ id: z.string(), name: z.string() }),
  message_id: z.string(),
  iteration: z.number().int(),
  mode: DelegationMode,
  timeout_seconds: z.number(),
  agents: z.array(AssignedAgent),
  /** Number of agents started. */
  sent: z.number().int(),
  /** By the agent's index. */
  reports: Reports,
});
export type Delegation = z.infer<typeof Delegation>;

/** An update of a running delegation. */
export const DelegationProgress = z.object({ sent: z.number().int().optional(), reports: Reports.optional() });
export type DelegationProgress = z.infer<typeof DelegationProgress>;

/** Merges delegations by their call's ledger id: adds, updates, or removes with `null`. */
export function mergeDelegations(
  left: Record<string, Delegation>,
  right: Record<string, Delegation | DelegationProgress | null>,
): Record<string, Delegation> {
  const merged = { ...left };
  for (const [id, update] of Object.entries(right)) {
    if (update === null) {
      delete merged[id];
      continue;
    }
    const known = merged[id];
    if (known !== undefined) {
      const { sent = known.sent, reports } = update;
      merged[id] = { ...known, sent, reports: { ...known.reports, ...reports } };
    } else if ("agents" in update) {
      merged[id] = update;
    }
  }
  return merged;
}
