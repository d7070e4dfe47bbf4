import { z } from "zod";
import { DelegationMode } from "../../agents/delegation.ts";

/** An agent at one piece of work, as it was found when the call began: its file may change before it is done. */
export const AssignedAgent = z.object({
  name: z.string(),
  task: z.string(),
  prompt: z.string(),
  /** Names of its tools; `null`: all of the caller's. */
  tools: z.array(z.string()).nullable(),
  model: z.string(),
  /** Whether it is told the user's rules; absent in work that began before there were any. */
  include_rules: z.boolean().optional(),
});
export type AssignedAgent = z.infer<typeof AssignedAgent>;

/** What an agent's work came to. `cost` is `null` where no price is known; `duration_ms` is without waiting for people. */
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

/** The work that one call has handed to agents. It is stored, so that a crash repeats no finished agent. */
export const Delegation = z.object({
  call: z.object({ id: z.string(), name: z.string() }),
  message_id: z.string(),
  iteration: z.number().int(),
  mode: DelegationMode,
  timeout_seconds: z.number(),
  agents: z.array(AssignedAgent),
  /** How many of them have been sent to work. */
  sent: z.number().int(),
  /** By the agent's place in the list. */
  reports: Reports,
});
export type Delegation = z.infer<typeof Delegation>;

/** What changes of a delegation while it goes on. */
export const DelegationProgress = z.object({ sent: z.number().int().optional(), reports: Reports.optional() });
export type DelegationProgress = z.infer<typeof DelegationProgress>;

/** Delegations by the ledger's name of their call; an update adds, changes, or with `null` removes. */
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
