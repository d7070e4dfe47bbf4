import { hash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";

const length = 8;
const known = new Map<string, string>();
/** Size of the cache of hashes. */
const remembered = 50_000;

/**
 * The 8-character ids for the model, by message id, from a hash because ids of a session share a prefix. On a collision
 * the later message gets another one, so the list must start with the session's first message.
 */
export function shortIds(messages: readonly BaseMessage[]): Map<string, string> {
  const short = new Map<string, string>();
  const taken = new Set<string>();
  for (const { id } of messages) {
    if (id === undefined || short.has(id)) continue;
    let candidate = hashOf(id);
    for (let attempt = 1; taken.has(candidate); attempt += 1) candidate = hashOf(`${id}#${attempt}`);
    taken.add(candidate);
    short.set(id, candidate);
  }
  return short;
}

function hashOf(id: string): string {
  const found = known.get(id);
  if (found !== undefined) return found;
  if (known.size >= remembered) known.clear();
  const made = hash("sha256", id).slice(0, length);
  known.set(id, made);
  return made;
}
