import { confirmation } from "./confirmation.ts";
import type { Guardrail } from "./guardrail.ts";

/** The rules, in order: the first that does not allow decides. */
export const guardrails: Record<string, Guardrail> = { confirmation };
