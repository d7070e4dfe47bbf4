import * as z from "zod/mini";
import { ApiError, inChinese, perform, request } from "../client.ts";
import { CommandAnswer, Run } from "../shapes.ts";

/** A message of a user as a run is given it. */
export interface Said {
  id: string;
  text: string;
  attachments: readonly string[];
  /** ISO date. */
  at: string;
}

/** Starts a run with a message; while another works it waits for its end. */
export async function startRun(
  threadId: string,
  assistantId: string,
  said: Said,
  context: Record<string, unknown>,
): Promise<string | undefined> {
  const attachments = said.attachments.map((path) => ({
    path,
    name: path.split("/").at(-1) ?? path,
    // A GIF is none that models are shown.
    type: /\.(?:png|jpe?g|webp)$/iu.test(path) ? "image" : "file",
  }));
  const message = {
    type: "human",
    id: said.id,
    content: said.text,
    additional_kwargs: { timestamp: said.at, ...(attachments.length > 0 && { attachments }) },
  };
  const params = {
    assistant_id: assistantId,
    input: { messages: [message] },
    ...(Object.keys(context).length > 0 && { context }),
  };
  const answer = await request(`/threads/${threadId}/commands`, CommandAnswer, {
    method: "POST",
    body: { id: 1, method: "run.start", params },
    headers: { "Idempotency-Key": said.id },
  });
  if (answer.type === "error") {
    throw new ApiError(inChinese(answer, 400) ?? answer.message ?? String(answer.error), { status: 400 });
  }
  return answer.result?.run_id;
}

/** Stops whatever works in the thread, also a run that this page did not start; false: nothing works. */
export async function stopThread(threadId: string): Promise<boolean> {
  const runs = await request(`/threads/${threadId}/runs?status=running&limit=10`, z.array(Run));
  await Promise.all(
    runs.map(({ run_id }) => perform(`/threads/${threadId}/runs/${run_id}/cancel`, { method: "POST" })),
  );
  return runs.length > 0;
}

/**
 * Takes a run out of the queue; one that has begun is refused with 409, and goes on. It may be asked for again in the name of
 * the same message: the reason that the run keeps says which one took it out.
 */
export async function takeOut(threadId: string, runId: string, messageId: string): Promise<void> {
  const reason = `Taken out of the queue for the message ${messageId}`;
  const path = `/threads/${threadId}/runs/${runId}`;
  const query = `status=pending&reason=${encodeURIComponent(reason)}`;
  try {
    await perform(`${path}/cancel?${query}`, { method: "POST" });
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 409)) throw error;
    if ((await request(path, Run)).cancel_reason !== reason) throw error;
  }
}

/** Goes on with, or gives anew, a reply that a stop cut off. */
export function takeUp(threadId: string, how: "continue" | "regenerate"): Promise<void> {
  return perform(`/threads/${threadId}/partial/${how}`, { method: "POST", body: {} });
}

/** Says a message of the user anew, with other words where they are given; under the same key it is the same run. */
export function rerun(threadId: string, messageId: string, key: string, content?: string): Promise<void> {
  const path = `/threads/${threadId}/messages/${encodeURIComponent(messageId)}/rerun`;
  return perform(path, { method: "POST", body: { content }, headers: { "Idempotency-Key": key } });
}

/** What stays of a conversation: so many of its last messages, and some by their ids. */
export interface Compression {
  keep_recent: number;
  keep_message_ids: readonly string[];
}

/** Lets a summary stand for the older messages in what the model sees; the conversation stays as it is. */
export function compress(threadId: string, how: Compression): Promise<void> {
  return perform(`/threads/${threadId}/compress`, { method: "POST", body: how });
}

/** Chooses what was proposed. */
export function choose(threadId: string, suggestionId: string): Promise<void> {
  return perform(`/threads/${threadId}/suggestions/${encodeURIComponent(suggestionId)}`, { method: "POST" });
}
