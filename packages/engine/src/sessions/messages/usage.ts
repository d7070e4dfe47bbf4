import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { readExtras, type MessageExtras } from "./message-fields.ts";

/** One model call, as recorded in its reply. */
const Request = z.object({
  message_id: z.string(),
  run_id: z.string().nullable(),
  model: z.string().nullable(),
  timestamp: z.string().nullable(),
  total_tokens: z.number(),
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  cached_tokens: z.number().describe("Of the prompt's tokens, those that the provider had kept"),
  cost: z.number().nullable().describe("In the unit of the run's price; null where no price was known"),
});
type Request = z.infer<typeof Request>;

const Totals = z.object({
  requests: z.number().int(),
  total_tokens: z.number(),
  prompt_tokens: z.number(),
  completion_tokens: z.number(),
  cached_tokens: z.number().describe("Tokens that the provider's cache has saved"),
  cost: z.number().nullable(),
  cache_hit_ratio: z.number().describe("Cached / prompt tokens, 0 to 1"),
  average_tokens: z.number().describe("Tokens of a request"),
});
type Totals = z.infer<typeof Totals>;

/** The usage of a session's model calls: in total, by run, and the last ones. */
export const SessionUsage = z.object({
  since: z.string().nullable().describe("When the statistics were reset; what was before is not counted"),
  session: Totals,
  window: Totals.nullable().describe("The same within the last `seconds`, where they were given"),
  runs: z
    .array(Totals.extend({ run_id: z.string().nullable() }))
    .describe("Oldest first; null: before runs were noted"),
  recent: z.array(Request).describe("The last requests, the newest first"),
});
export type SessionUsage = z.infer<typeof SessionUsage>;

/** Selects the calls; times are milliseconds since 1970. */
export interface UsageQuery {
  since: string | null;
  last: number;
  seconds: number | undefined;
  now: number;
}

/** Sums the usage recorded in a session's replies, so nothing is counted twice. */
export function readUsage(messages: readonly BaseMessage[], { since, last, seconds, now }: UsageQuery): SessionUsage {
  const begin = since === null ? -Infinity : Date.parse(since);
  const requests = messages.flatMap(requestOf).filter((request) => timeOf(request) >= begin);
  const byRun = Map.groupBy(requests, ({ run_id }) => run_id);
  const inWindow = seconds === undefined ? null : requests.filter((request) => timeOf(request) >= now - seconds * 1000);
  return {
    since,
    session: totalsOf(requests),
    window: inWindow === null ? null : totalsOf(inWindow),
    runs: [...byRun].map(([run_id, own]) => ({ run_id, ...totalsOf(own) })),
    recent: requests.slice(-last).toReversed(),
  };
}

/** A message without a time counts as old. */
function timeOf({ timestamp }: Request): number {
  const time = Date.parse(timestamp ?? "");
  return Number.isNaN(time) ? -Infinity : time;
}

function requestOf(message: BaseMessage): Request[] {
  const { usage, llm_metadata, timestamp } = readExtras(message);
  if (usage === null) return [];
  const runId: unknown = llm_metadata?.["run_id"];
  return [
    {
      message_id: message.id ?? "",
      run_id: typeof runId === "string" ? runId : null,
      model: llm_metadata?.model_name ?? null,
      timestamp,
      ...usage,
      cost: costOf(llm_metadata),
    },
  ];
}

function costOf(known: MessageExtras["llm_metadata"]): number | null {
  if (known?.input_cost === undefined && known?.output_cost === undefined) return null;
  return (known.input_cost ?? 0) + (known.output_cost ?? 0);
}

function totalsOf(requests: readonly Request[]): Totals {
  const sum = (key: "total_tokens" | "prompt_tokens" | "completion_tokens" | "cached_tokens"): number =>
    requests.reduce((total, request) => total + request[key], 0);
  const prompt = sum("prompt_tokens");
  const cached = sum("cached_tokens");
  const costs = requests.flatMap(({ cost }) => cost ?? []);
  return {
    requests: requests.length,
    total_tokens: sum("total_tokens"),
    prompt_tokens: prompt,
    completion_tokens: sum("completion_tokens"),
    cached_tokens: cached,
    cost: costs.length === 0 ? null : costs.reduce((total, cost) => total + cost, 0),
    cache_hit_ratio: prompt === 0 ? 0 : cached / prompt,
    average_tokens: requests.length === 0 ? 0 : sum("total_tokens") / requests.length,
  };
}
