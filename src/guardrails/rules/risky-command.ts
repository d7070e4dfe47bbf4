import type { Operation } from "../../tools/runtime/tool.ts";

/** Commands that destroy, escalate privileges, or run downloaded code. */
const risks: readonly RegExp[] = [
  /\brm\s+(?:\S+\s+)*-{1,2}(?:[a-z]*[rf]|recursive|force)/iu,
  /\b(?:rmdir|rd|del)\s+(?:\S+\s+)*\/[sq]\b/iu,
  /\b(?:remove-item|ri)\b.*\s-(?:recurse|force)\b/iu,
  /\bfind\b.*\s-(?:delete|exec)\b/iu,
  /\b(?:mkfs(?:\.\w+)?|shred|wipefs|fdisk|format\s+[a-z]:)/iu,
  /\bdd\b.*\bof=/iu,
  />\s*\/dev\/(?:sd|hd|nvme|disk|mem)/iu,
  /\b(?:shutdown|reboot|halt|poweroff)\b/iu,
  /\b(?:sudo|doas|runas|su)\s/iu,
  /\b(?:chmod|chown|chgrp)\s+(?:\S+\s+)*(?:-{1,2}r(?:ecursive)?\b|0?777\b)/iu,
  /\bkill(?:all)?\s+(?:-9|-KILL|-SIGKILL)\b/iu,
  /\bgit\s+(?:push\b.*\s(?:--force\S*|-f)\b|reset\s+--hard\b|clean\s+-\w*f)/iu,
  /\b(?:curl|wget|iwr|invoke-webrequest)\b.*\|\s*(?:sudo\s+)?(?:ba|z|da|k)?(?:sh|python3?|node|perl|ruby|iex)\b/iu,
  /\b(?:drop\s+(?:table|database|schema)|truncate\s+table)\b/iu,
  /\b(?:npm|yarn|pnpm|cargo|twine)\s+(?:publish|upload)\b/iu,
  /:\(\)\s*\{.*\|/u,
];

/**
 * Characters of a command shown in a question, and length from which a command counts as risky, since it will not be
 * read.
 */
const [shownLength, readLength] = [300, 8000];

/**
 * The operation of a shell `command` that needs approval: the model set `requires_approval`, or the command matches the
 * risks. Else `undefined`: the tool decides.
 */
export function riskyCommand(input: Readonly<Record<string, unknown>>): Operation | undefined {
  const { command, requires_approval } = input;
  if (typeof command !== "string") return undefined;
  const isRisky = command.length > readLength || risks.some((risk) => risk.test(command));
  if (requires_approval !== true && !isRisky) return undefined;
  const shownCommand = command.length > shownLength ? `${command.slice(0, shownLength)}…` : command;
  return { type: "HighRiskOperation", what: `run the command ${shownCommand}`, what_zh: `运行命令 ${shownCommand}` };
}
