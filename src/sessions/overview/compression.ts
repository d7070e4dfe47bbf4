import { z } from "zod";
import { planCompaction, visibleTokens, type CompactionPlan } from "../../context/compression/compaction.ts";
import { fitSummary, plainSummary, SummaryAnswer, summaryTokens } from "../../context/compression/compress.ts";
import { countMessage } from "../../context/tokens/tokens.ts";
import { AppError } from "@millrace/engine/errors/errors";
import { modelLimits } from "@millrace/models/registry/model-limits";
import type { DefaultModel } from "./default-model.ts";
import { ConversationSummary, type CompressionRequest } from "../../state.ts";
import type { Graphs } from "@millrace/engine/graphs/load";
import type { Session } from "@millrace/engine/storage/records";
import { indexOfMessage, messagesIn } from "@millrace/engine/sessions/messages/conversation";
import type { OwnerScope } from "@millrace/engine/sessions/scope/owner-scope";
import { lastRunOf } from "@millrace/engine/sessions/overview/last-run";
import { roleOf, wordsOf } from "@millrace/engine/sessions/messages/message-fields";
import { readValues } from "@millrace/engine/sessions/sessions";

const Listed = z.object({
  id: z.string().nullable(),
  role: z.string(),
  preview: z.string().describe("The first 100 characters"),
  tokens: z.number().int(),
});
const Usage = z.object({ tokens: z.number(), limit: z.number(), ratio: z.number() });

/** What a compression would do. Tokens are estimates of the conversation. */
export const CompressionPreview = z.object({
  message_count: z.number().int(),
  usage: Usage.describe("As it is shown to the model now"),
  predicted: Usage.extend({ summary_tokens: z.number() }).describe("After the compression"),
  summary: SummaryAnswer.describe("Made by rule; the compression asks the model for a better one"),
  kept: z.array(Listed).describe("Messages that stay in view"),
  compressible: z.array(Listed).describe("Messages that the summary would stand for"),
});
export type CompressionPreview = z.infer<typeof CompressionPreview>;

/** Only graphs of this program keep a summary in their state; before the first turn there is none. */
const WithSummary = z.object({ conversation_summary: ConversationSummary.nullish() });

/** Whether the graph of a thread keeps a summary, though its state has no place for it yet. */
async function willKeepSummary({ metadata }: Session, graphs: Graphs): Promise<boolean> {
  const { graph_id } = metadata;
  return typeof graph_id === "string" && graphs.hasLoop(await graphs.ofSession(graph_id, {}, "threads.read"));
}

/**
 * Previews a compression. Throws `not_found` for an unknown message, `invalid_state` if the graph cannot compress or
 * there is nothing to compress.
 */
export async function previewCompression(
  { storage, runs, graphs }: Pick<OwnerScope, "storage" | "runs"> & { graphs: Graphs },
  session: Session,
  request: CompressionRequest,
  server: DefaultModel,
): Promise<CompressionPreview> {
  const values = await readValues(storage, session.session_id);
  const parsed = WithSummary.safeParse(values);
  const stored = parsed.data?.conversation_summary;
  if (stored === undefined && !(parsed.success && (await willKeepSummary(session, graphs)))) {
    throw new AppError("invalid_state", "The graph of this thread keeps no summary of its conversation.", {
      message_zh: "这个会话的图不保留对话摘要。",
    });
  }
  const messages = messagesIn(values);
  const summary = stored ?? null;
  const { context } = await lastRunOf(runs, session);
  const chosen = context["model"];
  const model = typeof chosen === "string" ? chosen : server.model;
  const limit = modelLimits(model, server.contextLimit, server.profile).context;
  const keepIds = keptIds(messages, request.keep_message_ids);
  const plan = planCompaction(messages, summary, { limit, keep: request.keep_recent, keepIds });
  if (plan === null) {
    throw new AppError(
      "invalid_state",
      `There is nothing to compress: ${messages.length} messages, all of them are kept.`,
      {
        suggestion: "Keep fewer messages, or go on until there are more.",
        message_zh: `没有可压缩的内容：共 ${messages.length} 条消息，全部需要保留。请减少保留的消息，或等消息更多后再压缩。`,
      },
    );
  }
  const now = visibleTokens(messages, summary);
  return {
    message_count: messages.length,
    usage: { tokens: now, limit, ratio: now / limit },
    ...predict(plan, limit, summary),
  };
}

function predict(
  plan: CompactionPlan,
  limit: number,
  before: ConversationSummary | null,
): Pick<CompressionPreview, "predicted" | "summary" | "kept" | "compressible"> {
  const { removed, kept, through_message_id, shown, tokensAfter } = plan;
  const summary = fitSummary(plainSummary(removed, before));
  const inView = new Set(kept);
  const summary_tokens = summaryTokens({ ...summary, through_message_id, shown });
  return {
    predicted: { tokens: tokensAfter, limit, ratio: tokensAfter / limit, summary_tokens },
    summary,
    kept: kept.map(listed),
    compressible: removed.filter((message) => !inView.has(message)).map(listed),
  };
}

function listed(message: CompactionPlan["kept"][number]): z.infer<typeof Listed> {
  const preview = wordsOf(message).slice(0, 100).toWellFormed();
  return { id: message.id ?? null, role: roleOf(message), preview, tokens: countMessage(message) };
}

/** Full ids of messages named by id or prefix. */
export function keptIds(messages: CompactionPlan["kept"], named: readonly string[]): string[] {
  return named.flatMap((id) => messages[indexOfMessage(messages, id)]?.id ?? []);
}
