import { analyzeCommand } from "../commands/look-at-command.ts";
import type { Guardrail } from "../../../src/guardrails/guardrail.ts";

/** Refuses harmful commands without asking, because approving them would be a mistake. */
export const harmfulCommands: Guardrail = ({ input }) => {
  const { command } = input;
  if (typeof command !== "string") return { kind: "allow" };
  const looked = analyzeCommand(command);
  if (looked.kind === "runs") return { kind: "allow" };
  return { kind: "deny", reason: `Refused: ${looked.reason}. Do without this command, or tell the user to run it.` };
};
