import { useSyncExternalStore } from "react";
import { keepText, onTexts, readText } from "./texts.ts";

/** Unsent texts, by the thread, or by the message that is edited; all tabs have the same. */

const prefix = "draft.";

/** The draft of a thread; empty where there is none. */
export function readDraft(threadId: string): string {
  return readText(prefix + threadId);
}

/** The place of the draft of a thread that does not exist yet. */
export const newThreadDraft = "new";

/** Keeps a draft; an empty one is forgotten. */
export function keepDraft(threadId: string, text: string): void {
  keepText(prefix + threadId, text);
}

/** A draft, and what changes it: also once the page that shows it was left. */
export function useDraft(threadId: string): [string, (next: string | ((now: string) => string)) => void] {
  const text = useSyncExternalStore(onTexts, () => readDraft(threadId));
  return [text, (next) => keepDraft(threadId, typeof next === "string" ? next : next(readDraft(threadId)))];
}

/** Behind the place of a draft: that of the files that go with it, each on a line. */
export const files = ".files";

/** Gives a message back to the field it came from, above what stands there. */
export function giveBack(threadId: string, text: string, attachments: readonly string[]): void {
  keepDraft(threadId, joined(text, readDraft(threadId)));
  keepDraft(threadId + files, joined(readDraft(threadId + files), ...attachments));
}

/** Puts the draft of a thread that is gone, and its files, where a new one is begun, below what stands there. */
export function takeDraftAlong(threadId: string): void {
  for (const part of ["", files]) {
    keepDraft(newThreadDraft + part, joined(readDraft(newThreadDraft + part), readDraft(threadId + part)));
    keepDraft(threadId + part, "");
  }
}

function joined(...texts: readonly string[]): string {
  return texts.filter(Boolean).join("\n");
}
