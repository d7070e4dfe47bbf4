import { z } from "zod";
import { CountRow, parseRow, readRows } from "../../rows.ts";
import { ModelUsage, Usage, type UsageStore } from "../../usage.ts";
import type { Statements } from "../database/database.ts";

const DayRow = Usage.extend({ day: z.string() });
const OwnerRow = Usage.extend({ owner: z.string() });
const ModelRow = ModelUsage.extend({ day: z.string(), model: z.string() });

const ofDays = `SELECT day, requests, input_tokens, output_tokens, cached_tokens, cost FROM owner_usage
  WHERE owner = $1 AND day BETWEEN $2 AND $3 ORDER BY day`;
const ofOwners = `SELECT owner, sum(requests)::bigint AS requests, sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens, sum(cached_tokens) AS cached_tokens, sum(cost) AS cost
  FROM owner_usage WHERE day BETWEEN $1 AND $2
  GROUP BY owner ORDER BY sum(input_tokens + output_tokens) DESC, owner LIMIT $3 OFFSET $4`;
const countOwners = "SELECT count(DISTINCT owner) AS count FROM owner_usage WHERE day BETWEEN $1 AND $2";
const ofModels = `SELECT day, model, sum(requests)::bigint AS requests, sum(failed)::bigint AS failed,
    sum(input_tokens) AS input_tokens, sum(output_tokens) AS output_tokens, sum(cached_tokens) AS cached_tokens,
    sum(cost) AS cost, sum(duration_ms) AS duration_ms, sum(first_token_ms) AS first_token_ms,
    sum(first_tokens)::bigint AS first_tokens
  FROM model_usage WHERE day BETWEEN $1 AND $2 AND ($3::text IS NULL OR owner = $3)
  GROUP BY day, model ORDER BY day, model`;

/** What a run has used so far as JSON, in a statement on `runs`; null where it has asked no model. */
export const usageOfRun = `(SELECT json_build_object('requests', requests, 'input_tokens', input_tokens,
  'output_tokens', output_tokens, 'cached_tokens', cached_tokens, 'cost', cost)::text FROM run_usage WHERE run = runs.id)`;

/** The sums of owners in PostgreSQL: one row for each owner and day. */
export function createUsageStore(database: Statements): UsageStore {
  return {
    days: async (owner, { from, to }) =>
      readRows(DayRow, "owner_usage", await database.read(ofDays, [owner, from, to])),
    owners: async ({ from, to }, { limit, offset }) => ({
      owners: readRows(OwnerRow, "owner_usage", await database.read(ofOwners, [from, to, limit, offset])),
      total: parseRow(CountRow, "owner_usage", (await database.read(countOwners, [from, to]))[0]).count,
    }),
    models: async ({ from, to }, owner) =>
      readRows(ModelRow, "model_usage", await database.read(ofModels, [from, to, owner ?? null])),
  };
}
