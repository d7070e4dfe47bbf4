import { nameOfOwner } from "@millrace/engine/config/api-keys";
import type { OwnerTools } from "@millrace/engine/config/tool-settings";
import type { Toolkit } from "./toolkit.ts";

/**
 * Tools an owner may use: those listed, those of listed toolkits, and those of every conversation. `undefined`: all.
 */
export function toolsOfOwner(
  limits: OwnerTools | undefined,
  owner: string | null,
  enabled: readonly Toolkit[],
): ReadonlySet<string> | undefined {
  if (limits === undefined || owner === null) return undefined;
  const limited = nameOfOwner(owner);
  if (!Object.hasOwn(limits, limited)) return undefined;
  const names = limits[limited] ?? [];
  const toolkits = enabled.filter(({ name, enabled: when }) => when === "always" || names.includes(name));
  return new Set([...names, ...toolkits.flatMap(({ tools }) => tools.map(({ name }) => name))]);
}
