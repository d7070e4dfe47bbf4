import * as z from "zod/mini";
import { ApiError } from "../../api/client.ts";
import { startRun } from "../../api/runs/runs.ts";
import { giveBack } from "./drafts.ts";
import { keepText, readText } from "./texts.ts";

const Said = z.object({ id: z.string(), text: z.string(), attachments: z.array(z.string()), at: z.string() });
const Unsent = z.object({ said: Said, assistant: z.string(), context: z.record(z.string(), z.unknown()) });
/** A message that the server is not known to have, and how it is to be answered. */
export type Unsent = z.infer<typeof Unsent>;

const prefix = "unsent.";
/** Without an answer, or with one of a proxy that got none, it is not known what the server has done. */
const unknown = new Set([0, 502, 504]);
const underWay = new Set<string>();

/** Whether a failure leaves open what the server has done. */
export function isUnanswered(error: unknown): boolean {
  return error instanceof ApiError && unknown.has(error.status);
}

/** The messages of a thread that were sent without an answer, oldest first. They survive a reload. */
export function unsentOf(threadId: string): readonly Unsent[] {
  try {
    return z.parse(z.array(Unsent), JSON.parse(readText(prefix + threadId) || "[]"));
  } catch {
    return [];
  }
}

/** Keeps messages that are to be sent; those that are kept already stay in their place. */
export function keepUnsent(threadId: string, more: readonly Unsent[]): void {
  const kept = unsentOf(threadId);
  keep(threadId, [...kept, ...more.filter(({ said }) => !kept.some((other) => other.said.id === said.id))]);
}

/** Forgets a message that the server has; false: it was not kept. */
export function forgetUnsent(threadId: string, id: string): boolean {
  const kept = unsentOf(threadId);
  const others = kept.filter(({ said }) => said.id !== id);
  keep(threadId, others);
  return others.length < kept.length;
}

/**
 * Sends a message; it is kept until there is an answer. Without one it may be sent again: under the same id it is the same
 * message. One that is refused is given back; throws what it was refused with.
 */
export async function sendMessage(threadId: string, unsent: Unsent): Promise<"sent" | "unanswered" | "under way"> {
  const { said, assistant, context } = unsent;
  if (underWay.has(said.id)) return "under way";
  underWay.add(said.id);
  keepUnsent(threadId, [unsent]);
  try {
    await startRun(threadId, assistant, said, context);
  } catch (error) {
    if (isUnanswered(error)) return "unanswered";
    // Another tab may have given it back already.
    if (forgetUnsent(threadId, said.id)) giveBack(threadId, said.text, said.attachments);
    throw error;
  } finally {
    underWay.delete(said.id);
  }
  forgetUnsent(threadId, said.id);
  return "sent";
}

function keep(threadId: string, unsent: readonly Unsent[]): void {
  keepText(prefix + threadId, unsent.length === 0 ? "" : JSON.stringify(unsent));
}
