import { lookAtCommand } from "../../tools/shell/look-at-command.ts";
import type { Guardrail } from "../guardrail.ts";

/** Refuses commands that nobody should be asked about, because a yes would be a mistake. */
export const harmfulCommands: Guardrail = ({ input }) => {
  const { command } = input;
  if (typeof command !== "string") return { kind: "allow" };
  const looked = lookAtCommand(command);
  if (looked.kind === "runs") return { kind: "allow" };
  return { kind: "deny", reason: `Refused: ${looked.reason}. Do without this command, or tell the user to run it.` };
};
