import * as z from "zod/mini";
import { ApiError, request } from "../api/client.ts";
import { stopThread } from "../api/runs/runs.ts";
import { Run } from "../api/shapes.ts";
import { keepUnsent, takeOutOne, type Unsent } from "../app/kept/outbox.ts";
import type { UserItem } from "./items.ts";

const Attached = z.object({ attachments: z._default(z.array(z.object({ path: z.string() })), []) });
const Blocks = z.array(z.looseObject({ text: z._default(z.string(), "") }));
const QueuedInput = z.object({
  messages: z.array(
    z.looseObject({ id: z.optional(z.string()), content: z.unknown(), additional_kwargs: z.optional(Attached) }),
  ),
});

/** What a pending run will answer. It can be said again as it is where it is one message of a text alone. */
export function queuedOf(run: Run): UserItem {
  const { assistant_id: assistant = "", kwargs } = run;
  const messages = z.safeParse(QueuedInput, kwargs?.input).data?.messages ?? [];
  const last = messages.at(-1);
  const isText = messages.length === 1 && typeof last?.content === "string";
  return {
    kind: "user",
    id: last?.id ?? run.run_id,
    text: messages.map(({ content }) => wordsOf(content)).join("\n"),
    attachments: (last?.additional_kwargs?.attachments ?? []).map(({ path }) => ({ name: path })),
    ...(isText && { waits: { assistant, context: kwargs?.context ?? {} } }),
    timestamp: run.created_at,
    state: "queued",
    runId: run.run_id,
  };
}

function wordsOf(content: unknown): string {
  if (typeof content === "string") return content;
  const blocks = z.safeParse(Blocks, content).data ?? [];
  return blocks.map(({ text }) => text).join("");
}

/** What was said while a run works, in the order in which it will be answered. */
export async function waitingIn(threadId: string, signal: AbortSignal): Promise<UserItem[]> {
  const runs = await request(`/threads/${threadId}/runs?status=pending&limit=100`, z.array(Run), { signal });
  return runs.toSorted((one, other) => one.created_at.localeCompare(other.created_at)).map(queuedOf);
}

/** A waiting message as one that is taken out of the queue and sent again, under an id of its own. */
export function unsentOfQueued({ runId, text, attachments, waits }: UserItem): Unsent {
  const said = {
    id: crypto.randomUUID(),
    text,
    attachments: attachments.map(({ name }) => name),
    at: new Date().toISOString(),
  };
  return { said, assistant: "", context: {}, ...waits, queued: runId };
}

/** Takes a waiting message out of the queue and puts it into the field. */
export async function editQueued(threadId: string, item: UserItem): Promise<void> {
  const unsent = { ...unsentOfQueued(item), isEdited: true };
  keepUnsent(threadId, [unsent]);
  await takeOutOne(threadId, unsent);
}

/** Stops what works in a thread. Where nothing does, the first run that waits is taken out, as it is for an edit; it is returned. */
export async function stopFirst(
  threadId: string,
  only: "running" | undefined,
  signal: AbortSignal,
): Promise<UserItem | undefined> {
  if ((await stopThread(threadId)) || only === "running") return undefined;
  const [first] = await waitingIn(threadId, signal);
  try {
    if (first !== undefined) {
      await editQueued(threadId, first);
      return first;
    }
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
  }
  // It has begun in between.
  await stopThread(threadId);
  return undefined;
}
