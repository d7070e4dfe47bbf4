import type { Guardrail } from "../guardrail.ts";

/** Denies all calls while the session waits for a confirmation. */
export const pendingConfirmation: Guardrail = ({ requiresConfirm }) =>
  requiresConfirm
    ? {
        kind: "deny",
        reason: "This session waits for the user's confirmation. Ask for it, and call no tool before it has come.",
      }
    : { kind: "allow" };
