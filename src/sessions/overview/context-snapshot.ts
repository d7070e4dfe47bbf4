import { z } from "zod";
import type { Config } from "@millrace/engine/config/config";
import { ContextSection, splitIntoSections } from "../../context/snapshot.ts";
import { modelLimits } from "@millrace/models/registry/model-limits";
import type { ModelRegistry } from "@millrace/models/registry/registry";
import { Endpoint, plainRequest, wireRequest, WireRequest } from "@millrace/models/messages/wire-request";
import { systemMessage } from "@millrace/models/messages/system-message";
import type { Prompts } from "../../prompts/prompts.ts";
import { describeToolsBy } from "../../prompts/templates/xml-tools.ts";
import type { Session } from "@millrace/engine/storage/records";
import type { ModelRequest } from "@millrace/engine/storage/record-stores";
import type { OwnerScope } from "@millrace/engine/sessions/scope/owner-scope";
import { copiedContext } from "@millrace/engine/sessions/overview/last-run";
import { defaultModel } from "./default-model.ts";

/** The last model request of a session, by section. */
export const SessionContext = z.object({
  thread_id: z.string(),
  last_call: z
    .object({
      run_id: z.string(),
      call: z.string().describe("The node that asked"),
      model: z.string(),
      asked_at: z.string(),
      request: WireRequest.describe("What was sent, as the model's server read it"),
      is_exact: z.boolean().describe("False where this server can no longer ask that model: then in OpenAI's words"),
      endpoint: Endpoint.nullable().describe("Where it goes; null for the offline model, and where that is not known"),
    })
    .nullable()
    .describe("null before the first call"),
  copied_from: z
    .string()
    .nullable()
    .describe("In a copy before its first call: the thread that it was copied from, whose context says what was sent"),
  usage: z.object({
    tokens: z.number().int().describe("Estimated tokens of all sections"),
    limit: z.number().int().describe("Tokens that the model may read"),
    ratio: z.number(),
    level: z.enum(["normal", "hint", "full"]),
  }),
  output_limit: z.number().int().describe("Tokens of the model's longest answer"),
  price: z
    .object({ input: z.number(), output: z.number(), currency: z.string() })
    .nullable()
    .describe("Of a million tokens, as the model's profile has it; null where it is not known"),
  budget: z
    .object({
      total: z.number().int(),
      remaining: z.number().int().describe("Tokens that nothing takes"),
      allocations: z.array(
        z.object({
          category: z.enum(["output_reserve", "system", "user_input", "history"]),
          tokens: z.number().int(),
          percent: z.number().describe("Of the window"),
          reference_percent: z.number().describe("What it takes as a rule"),
          is_refused: z.boolean().describe("There is no room for it beside those before it"),
        }),
      ),
    })
    .describe("How the window is shared"),
  sections: z.array(ContextSection),
});
export type SessionContext = z.infer<typeof SessionContext>;

/** What copies and forks say of where they come from. */
const Origin = z.object({
  copied_from: z.string().nullable().catch(null),
  forked_from: z.object({ thread_id: z.string() }).nullable().catch(null),
});

/** What determines how a request is sent now. */
export interface ContextSources {
  config: Config;
  models: ModelRegistry;
  prompts: Prompts;
}

/** Reads the last request of a session, or of one node (`call`), by section. */
export async function readContext(
  { storage, ...server }: { storage: Pick<OwnerScope["storage"], "requests"> } & ContextSources,
  session: Session,
  call?: string,
): Promise<SessionContext> {
  const { session_id: thread_id } = session;
  const last = await storage.requests.last(thread_id, call);
  const usual = defaultModel(server);
  const { model: chosen } = copiedContext(session);
  const model = last?.model ?? (typeof chosen === "string" ? chosen : usual.model);
  const { context: limit, output: output_limit } = modelLimits(model, usual.contextLimit, usual.profile);
  const known = { thread_id, output_limit, price: usual.profile(model).price };
  if (last === undefined) {
    const nothing = { head: { system: "", parts: [], documentation: [] }, messages: [], tools: [] };
    const { copied_from, forked_from } = Origin.parse(session.metadata);
    const from = copied_from ?? forked_from?.thread_id ?? null;
    return { ...known, last_call: null, copied_from: from, ...splitIntoSections(nothing, limit) };
  }
  const { run_id, node, asked_at } = last;
  const lastCall = { run_id, call: node, model, asked_at, ...(await asSent(last, server)) };
  return { ...known, last_call: lastCall, copied_from: null, ...splitIntoSections(last, limit) };
}

/** A stored request as sent to the model's server. */
export async function asSent(
  { head, messages: rest, ...callFields }: ModelRequest,
  { config, models, prompts }: ContextSources,
): Promise<{ request: WireRequest; is_exact: boolean; endpoint: z.infer<typeof Endpoint> | null }> {
  const request = { ...callFields, messages: [systemMessage(head.system), ...head.documentation, ...rest] };
  const sent = await wireRequest(request, config, { models, describeTools: describeToolsBy(prompts) });
  // The offline model is part of the server: nothing is sent to it.
  return {
    request: sent?.request ?? plainRequest(request),
    is_exact: sent !== undefined || callFields.model === "offline",
    endpoint: sent?.endpoint ?? null,
  };
}
