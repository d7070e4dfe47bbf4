import type { Assistant } from "../../storage/records.ts";

/** The wire's Assistant: whose it is stays here. */
export function toWireAssistant({ owner: _owner, is_system: _isSystem, ...assistant }: Assistant): object {
  return assistant;
}
