import { confirmation } from "./confirmation.ts";
import type { Guardrail } from "./guardrail.ts";
import { pendingConfirmation } from "./pending-confirmation.ts";

/** The rules, in order: the first that does not allow decides. */
export const guardrails: Record<string, Guardrail> = { pendingConfirmation, confirmation };
