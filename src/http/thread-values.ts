import { textOf } from "@millrace/engine/message-kinds";
import { requireSession } from "@millrace/engine/sessions/sessions";
import type { ModelRequest } from "@millrace/engine/storage/record-stores";
import type { HttpContext } from "@millrace/engine/http/environment";
import { layerSeparator } from "@millrace/models/messages/system-message";
import { type FoundValues, valuesIn } from "../prompts/found-values.ts";
import type { PromptRecord } from "../prompts/manager.ts";
import { productServicesOf } from "./product-services.ts";

/** The values that a prompt had in the last requests of a thread; `null` where it stood in none of them. */
export async function valuesOfPrompt(
  context: HttpContext,
  threadId: string,
  prompt: PromptRecord,
): Promise<FoundValues | null> {
  const { content, default_content, variables } = prompt;
  for (const request of await lastRequests(context, threadId, prompt.nodes)) {
    const texts = textsOf(request);
    // The request may be older than the text that counts now.
    const values = valuesIn(content, variables, texts) ?? valuesIn(default_content, variables, texts);
    if (values !== undefined) return values;
  }
  return null;
}

/** The values that the identity had in the last request of a thread; `null` where that had none. */
export async function valuesOfIdentity(
  context: HttpContext,
  threadId: string,
  variables: readonly string[],
): Promise<FoundValues | null> {
  const [request] = await lastRequests(context, threadId, []);
  const values = request?.head.parts.find((part) => part.values !== undefined)?.values;
  if (values === undefined) return null;
  return Object.fromEntries(Object.entries(values).filter(([name]) => variables.includes(name)));
}

/** The newest request of a thread, and those of some of its nodes. Throws `not_found`. */
async function lastRequests(context: HttpContext, threadId: string, nodes: readonly string[]): Promise<ModelRequest[]> {
  const { storage } = productServicesOf(context);
  await requireSession(storage, threadId);
  const all = await Promise.all([undefined, ...nodes].map((node) => storage.requests.last(threadId, node)));
  return all.filter((request) => request !== undefined);
}

/** The texts of a request, piece by piece. */
function textsOf({ head, messages }: ModelRequest): string[] {
  let from = 0;
  const pieces = head.parts.map(({ characters }) => head.system.slice(from, (from += characters)));
  return [
    ...pieces.map((piece) => (piece.startsWith(layerSeparator) ? piece.slice(layerSeparator.length) : piece)),
    ...[...head.documentation, ...messages].map(({ content }) => textOf(content)),
  ];
}
