import * as z from "zod/mini";
import { ApiError } from "../../api/client.ts";
import { rerun, startRun, takeOut } from "../../api/runs/runs.ts";
import { giveBack, takeDraftAlong } from "./drafts.ts";
import { keepText, readText, valueOf } from "./texts.ts";

const Said = z.object({ id: z.string(), text: z.string(), attachments: z.array(z.string()), at: z.string() });
const Unsent = z.object({
  said: Said,
  assistant: z.string(),
  context: z.record(z.string(), z.unknown()),
  /** The run with which it waits: it is taken out of the server's queue first. */
  queued: z.optional(z.string()),
  /** It is not sent then, but put into the field. */
  isEdited: z.optional(z.boolean()),
  /** It is not sent then: it is to be gone. */
  isRemoved: z.optional(z.boolean()),
});
const Anew = z.object({ text: z.optional(z.string()), key: z.string() });
/** A message that the server is not known to have, and how it is to be answered. */
export type Unsent = z.infer<typeof Unsent>;

const prefix = "unsent.";
/** Milliseconds after which what has got no answer is tried again. */
const pause = 3_000;
/** What is being sent, by the message's id. */
const underWay = new Map<string, Promise<Outcome>>();
const listeners = new Set<() => void>();

/** What came of sending a message; "other": another tab has sent it, or has given it back. */
type Outcome = "sent" | "unanswered" | "other";

/** Calls back when it is time to try again; the result ends it. */
export function onUnanswered(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Whether a failure leaves open what the server has done: there was no answer, none that can be read, or one of a proxy that got
 * none. Then it is tried again.
 */
function isUnanswered(error: unknown): boolean {
  const isOpen = error instanceof ApiError && (error.status < 300 || error.status > 501);
  if (isOpen) setTimeout(() => listeners.forEach((listener) => listener()), pause);
  return isOpen;
}

/** The messages of a thread that were sent without an answer, oldest first. They survive a reload. */
export function unsentOf(threadId: string): readonly Unsent[] {
  return valueOf(readText(prefix + threadId), z.array(Unsent)) ?? [];
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
 * Sends a message; it is kept until there is an answer. Without one it may be sent again (`again`), as long as it is kept: under
 * the same id it is the same message. One that is refused is given back; throws what it was refused with.
 */
export function sendMessage(threadId: string, unsent: Unsent, again = false): Promise<Outcome> {
  const { id } = unsent.said;
  const sending = underWay.get(id);
  // Who has sent it first says what it was refused with.
  if (sending !== undefined) return sending.catch(() => "other" as const);
  const isKept = unsentOf(threadId).some(({ said, queued }) => said.id === id && queued === undefined);
  if (again && !isKept) return Promise.resolve("other");
  keepUnsent(threadId, [unsent]);
  const asks = send(threadId, unsent).finally(() => underWay.delete(id));
  underWay.set(id, asks);
  return asks;
}

async function send(threadId: string, { said, assistant, context }: Unsent): Promise<Outcome> {
  try {
    await startRun(threadId, assistant, said, context);
  } catch (error) {
    if (isUnanswered(error)) return "unanswered";
    // Another tab may have given it back already.
    if (forgetUnsent(threadId, said.id)) giveBack(threadId, said.text, said.attachments);
    throw error;
  }
  forgetUnsent(threadId, said.id);
  return "sent";
}

/**
 * Says a message of the user anew, with other words where they are given. Where there is no answer, the next try with the same
 * words leads to the same run.
 */
export async function sayAnew(threadId: string, messageId: string, content?: string): Promise<void> {
  const place = `rerun.${threadId}.${messageId}`;
  const { text, key } = valueOf(readText(place), Anew) ?? {};
  const same = text === content ? key : undefined;
  const anew = { text: content, key: same ?? crypto.randomUUID() };
  keepText(place, JSON.stringify(anew));
  try {
    await rerun(threadId, messageId, anew.key, content);
  } catch (error) {
    if (!isUnanswered(error)) keepText(place, "");
    throw error;
  }
  keepText(place, "");
}

/**
 * Takes a message that is kept out of the server's queue; one that is edited is then in the field, one that is removed is gone.
 * Where there is no answer it is tried again: by the id of the message the server knows that it was this one. Throws where it is
 * not taken out.
 */
export async function takeOutOne(threadId: string, unsent: Unsent): Promise<void> {
  const { queued, ...sendable } = unsent;
  const { said, isEdited, isRemoved } = unsent;
  // What was read before may have been taken out, and given back, in between.
  if (queued === undefined || !unsentOf(threadId).some((one) => one.said.id === said.id)) return;
  try {
    await takeOut(threadId, queued, said.id);
  } catch (error) {
    if (!isUnanswered(error)) forgetUnsent(threadId, said.id);
    throw error;
  }
  if (isEdited || isRemoved) {
    if (forgetUnsent(threadId, said.id) && isEdited) giveBack(threadId, said.text, said.attachments);
    return;
  }
  const kept = unsentOf(threadId);
  keep(
    threadId,
    kept.map((one) => (one.said.id === said.id ? sendable : one)),
  );
}

/** Takes all messages that are to be moved, edited or removed out of the queue; false: for some there was no answer. */
export async function takeOutMarked(threadId: string, onRefused: (error: unknown) => void): Promise<boolean> {
  // The last one first: none of them begins while those in front of it are taken out.
  for (const unsent of unsentOf(threadId).toReversed()) {
    try {
      await takeOutOne(threadId, unsent);
    } catch (error) {
      if (unsentOf(threadId).some(({ said }) => said.id === unsent.said.id)) return false;
      onRefused(error);
    }
  }
  return true;
}

/** Takes what was not sent, and the draft, from a thread that is gone along to where a new one is begun. */
export function takeAlong(threadId: string): void {
  for (const { said, isRemoved } of unsentOf(threadId).toReversed()) {
    forgetUnsent(threadId, said.id);
    if (!isRemoved) giveBack(threadId, said.text, said.attachments);
  }
  takeDraftAlong(threadId);
}

function keep(threadId: string, unsent: readonly Unsent[]): void {
  keepText(prefix + threadId, unsent.length === 0 ? "" : JSON.stringify(unsent));
}
