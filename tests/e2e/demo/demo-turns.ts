import { equal } from "node:assert/strict";
import { z } from "zod";
import type { Language } from "@millrace/engine/language";
import type { ServerProcess } from "../../support/processes/server-process.ts";
import { startModelServer, type ModelStep } from "@millrace/testing/model-server";
import { follow, messagesOf, note, requireUnderstood } from "./demo-view.ts";

const Card = z.looseObject({ operation_id: z.string(), status: z.string(), content: z.string().optional() });
/** A recorded change of the workspace, as clients see it. */
export type OperationCard = z.infer<typeof Card>;

/** A turn of `agent`, printed while it goes on: the user's words. Gives what its tools came to. */
export async function turn(
  server: ServerProcess,
  thread: string,
  content: string,
  context: Record<string, unknown>,
): Promise<string> {
  return await run(server, thread, { input: { messages: [{ role: "user", content }] } }, context);
}

/** Says yes to what the turn waits for, and goes on with it. Gives what its tools came to since. */
export async function approve(
  server: ServerProcess,
  thread: string,
  context: Record<string, unknown>,
  language: Language = "en",
): Promise<string> {
  note(language === "zh" ? "回答：同意。" : "Answer: approve.");
  return await run(server, thread, { command: { resume: { decisions: [{ type: "approve" }] } } }, context);
}

async function run(
  server: ServerProcess,
  thread: string,
  payload: { input: Record<string, unknown> } | { command: { resume: unknown } },
  context: Record<string, unknown>,
): Promise<string> {
  const { results } = await follow(
    server.client.runs.stream(thread, "agent", { ...payload, context, streamMode: ["messages-tuple", "custom"] }),
  );
  return results.join("\n");
}

/** A turn that is not followed: waits for its end or a question. Throws where the stand-in for a model did not understand it. */
export async function wait(
  server: ServerProcess,
  thread: string,
  payload: { input: Record<string, unknown> } | { command: { resume: unknown } },
  context: Record<string, unknown> = {},
): Promise<void> {
  await server.client.runs.wait(thread, "agent", { ...payload, context });
  const messages = messagesOf(await server.client.threads.getState(thread));
  const turn = messages.slice(messages.findLastIndex(({ type }) => type === "human"));
  requireUnderstood(turn.map(({ text }) => text).join("\n"));
}

/** What a session waits for, as JSON; it fails when it waits for nothing. */
export async function questionOf(server: ServerProcess, thread: string): Promise<string> {
  const { status, interrupts } = await server.client.threads.get(thread);
  equal(status, "interrupted", "the session should wait for an answer");
  return JSON.stringify(Object.values(interrupts).flat()[0]?.value);
}

/** The recorded changes of a session, the newest first. */
export async function operationsOf(server: ServerProcess, thread: string): Promise<OperationCard[]> {
  const response = await fetch(`${server.url}/threads/${thread}/operations`);
  return z.object({ operations: z.array(Card) }).parse(await response.json()).operations;
}

/** Takes a change back. */
export async function undo(server: ServerProcess, thread: string, operation: string): Promise<OperationCard> {
  const response = await fetch(`${server.url}/threads/${thread}/operations/${operation}/undo`, { method: "POST" });
  equal(response.status, 200, `the undo was refused: ${await response.clone().text()}`);
  const card = Card.parse(await response.json());
  equal(card.status, "undone");
  return card;
}

/** Starts the server again with a model that says `script`, every step of it, while `work` goes on. It is `openai:demo`. */
export async function withScriptedModel(
  server: ServerProcess,
  script: ModelStep[],
  settings: Record<string, string>,
  work: () => Promise<void>,
): Promise<void> {
  const model = await startModelServer({ script });
  try {
    await server.stop();
    server.configure({ ...settings, OPENAI_BASE_URL: model.url, OPENAI_API_KEY: "demo" });
    await server.start();
    await work();
    model.assertFinished();
  } finally {
    await model.close();
  }
}
