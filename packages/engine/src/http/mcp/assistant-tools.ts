import type { Tool } from "@modelcontextprotocol/sdk/types.js";
import { z } from "zod";
import { findAssistant } from "../../graphs/find-assistant.ts";
import type { Assistant } from "../../storage/records.ts";
import type { HttpServices } from "../environment.ts";

/** Assistants told in one answer to `tools/list`. */
const pageSize = 100;

/** What a call may say beside the graph's own input. */
export const ownArguments = {
  thread_id: {
    type: "string",
    description: "The conversation that goes on: the thread_id of an earlier result. Leave it out for a new one.",
  },
  resume: {
    description:
      'Answers what waits in that conversation: {"decisions": [{"type": "approve"}]}, or "reject" with a "message", for actions; else the answer itself.',
  },
} as const;

const ObjectSchema = z.looseObject({
  properties: z.record(z.string(), z.unknown()).default({}),
  required: z.array(z.string()).default([]),
});

/** The name of an assistant's tool: that of its graph, or for those that users made their own, as tools may be named. */
export function toolName({ name, graph_id, assistant_id, is_system }: Assistant): string {
  const given = (is_system ? graph_id : (name ?? graph_id)).replaceAll(/[^\w-]+/gu, "_").slice(0, 50);
  return is_system && given === graph_id ? given : `${given}-${assistant_id.slice(0, 8)}`;
}

/** One page of the assistants that the caller sees, each as a tool; `cursor` is where the page begins. */
export async function listTools(
  { storage, graphs }: HttpServices,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<{ tools: Tool[]; nextCursor?: string }> {
  const offset = z.coerce.number().int().min(0).catch(0).parse(cursor);
  const query = { limit: pageSize, offset, sort_by: "created_at", sort_order: "asc" } as const;
  const { assistants, total } = await storage.assistants.search(query, graphs.assistants());
  const tools = await Promise.all(
    assistants.map(async (assistant): Promise<Tool> => {
      const { input_schema } = await graphs.schemas(assistant.graph_id, signal);
      return {
        name: toolName(assistant),
        title: assistant.name ?? assistant.graph_id,
        description: assistant.description ?? `Runs the graph ${assistant.graph_id}.`,
        inputSchema: inputSchema(input_schema),
      };
    }),
  );
  return { tools, ...(offset + pageSize < total && { nextCursor: String(offset + pageSize) }) };
}

/** The assistant of a tool; `undefined` where the caller may run none of that name. */
export async function assistantOf(
  { storage, runnable, graphs }: HttpServices,
  name: string,
): Promise<Assistant | undefined> {
  // As a run may name it: also where rules show the user no list.
  const ofGraph = graphs.findAssistant(name);
  if (ofGraph !== undefined) return await findAssistant(runnable, graphs, ofGraph.assistant_id);
  const system = graphs.assistants();
  for (let offset = 0; ; offset += pageSize) {
    const { assistants, total } = await storage.assistants.search({ limit: pageSize, offset }, system);
    const found = assistants.find((assistant) => toolName(assistant) === name);
    if (found !== undefined || offset + pageSize >= total) return found;
  }
}

/** The graph's input with what a call may say beside it. Nothing is required: an answer brings no input. */
function inputSchema(input: unknown): Tool["inputSchema"] {
  const { properties, required: _required, ...rest } = ObjectSchema.parse(input ?? {});
  return { ...rest, type: "object", properties: { ...ownArguments, ...properties } };
}
