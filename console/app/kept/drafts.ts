/** Unsent texts, by the thread, or by the message that is edited; it survives a reload and stays on this device. */

const prefix = "millrace.draft.";

/** The draft of a thread; empty where there is none. */
export function readDraft(threadId: string): string {
  try {
    return localStorage.getItem(prefix + threadId) ?? "";
  } catch {
    return "";
  }
}

/** The place of the draft of a thread that does not exist yet. */
export const newThreadDraft = "new";

/** Puts the draft of a thread that is gone where a new one is begun, below what stands there. */
export function takeDraftAlong(threadId: string): void {
  const draft = readDraft(threadId);
  if (draft === "") return;
  keepDraft(newThreadDraft, [readDraft(newThreadDraft), draft].filter(Boolean).join("\n"));
  keepDraft(threadId, "");
}

/** Keeps a draft; an empty one is forgotten. */
export function keepDraft(threadId: string, text: string): void {
  try {
    if (text === "") localStorage.removeItem(prefix + threadId);
    else localStorage.setItem(prefix + threadId, text);
  } catch {
    // Without storage it lives as long as the page.
  }
}
