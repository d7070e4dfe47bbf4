import { z } from "zod";
import { isAnswered, ModelUsage, Usage, type UsageEntry, type UsageStore } from "../../usage.ts";
import type { Database } from "../database/database.ts";
import { CountRow, parseRow, readRows } from "../../rows.ts";

const DayRow = Usage.extend({ day: z.string() });
const OwnerRow = Usage.extend({ owner: z.string() });
const ModelRow = ModelUsage.extend({ day: z.string(), model: z.string() });

const sums = `requests = requests + excluded.requests,
    input_tokens = input_tokens + excluded.input_tokens, output_tokens = output_tokens + excluded.output_tokens,
    cached_tokens = cached_tokens + excluded.cached_tokens, cost = cost + excluded.cost`;
const add = `INSERT INTO owner_usage (owner, day, requests, input_tokens, output_tokens, cached_tokens, cost)
  VALUES (@owner, @day, @requests, @input_tokens, @output_tokens, @cached_tokens, @cost)
  ON CONFLICT (owner, day) DO UPDATE SET ${sums}`;
const addToRun = `INSERT INTO run_usage (run, requests, input_tokens, output_tokens, cached_tokens, cost)
  SELECT id, @requests, @input_tokens, @output_tokens, @cached_tokens, @cost FROM runs WHERE run_id = @run_id
  ON CONFLICT (run) DO UPDATE SET ${sums}`;
const addToModel = `INSERT INTO model_usage (owner, day, model, requests, failed, input_tokens, output_tokens, cached_tokens,
    cost, duration_ms, first_token_ms, first_tokens)
  VALUES (@owner, @day, @model, @requests, @failed, @input_tokens, @output_tokens, @cached_tokens, @cost, @duration_ms,
    @first_token_ms, @first_tokens)
  ON CONFLICT (owner, day, model) DO UPDATE SET ${sums}, failed = failed + excluded.failed,
    duration_ms = duration_ms + excluded.duration_ms, first_token_ms = first_token_ms + excluded.first_token_ms,
    first_tokens = first_tokens + excluded.first_tokens`;

/** What a run has used so far as JSON, in a statement on `runs`; null where it has asked no model. */
export const usageOfRun = `(SELECT json_object('requests', requests, 'input_tokens', input_tokens,
  'output_tokens', output_tokens, 'cached_tokens', cached_tokens, 'cost', cost) FROM run_usage WHERE run = runs.id)`;

/** Adds it to the sums of its days and models and of the run, in the caller's transaction. */
export function storeUsage(database: Database, run_id: string, usage: readonly UsageEntry[]): void {
  for (const entry of usage) {
    database.prepare(addToModel).run(entry);
    if (!isAnswered(entry)) continue;
    const { owner, day, requests, input_tokens, output_tokens, cached_tokens, cost } = entry;
    const sum = { requests, input_tokens, output_tokens, cached_tokens, cost };
    database.prepare(add).run({ owner, day, ...sum });
    database.prepare(addToRun).run({ run_id, ...sum });
  }
}

/** The sums of owners in SQLite: one row for each owner and day. */
export function createUsageStore(database: Database): UsageStore {
  const ofDays = `SELECT day, requests, input_tokens, output_tokens, cached_tokens, cost FROM owner_usage
    WHERE owner = @owner AND day BETWEEN @from AND @to ORDER BY day`;
  const ofOwners = `SELECT owner, sum(requests) AS requests, sum(input_tokens) AS input_tokens,
      sum(output_tokens) AS output_tokens, sum(cached_tokens) AS cached_tokens, sum(cost) AS cost
    FROM owner_usage WHERE day BETWEEN @from AND @to
    GROUP BY owner ORDER BY sum(input_tokens + output_tokens) DESC, owner LIMIT @limit OFFSET @offset`;
  const count = "SELECT count(DISTINCT owner) AS count FROM owner_usage WHERE day BETWEEN @from AND @to";
  const ofModels = `SELECT day, model, sum(requests) AS requests, sum(failed) AS failed, sum(input_tokens) AS input_tokens,
      sum(output_tokens) AS output_tokens, sum(cached_tokens) AS cached_tokens, sum(cost) AS cost,
      sum(duration_ms) AS duration_ms, sum(first_token_ms) AS first_token_ms, sum(first_tokens) AS first_tokens
    FROM model_usage WHERE day BETWEEN @from AND @to AND (@owner IS NULL OR owner = @owner)
    GROUP BY day, model ORDER BY day, model`;
  return {
    days: async (owner, days) =>
      database.read(() => readRows(DayRow, "owner_usage", database.prepare(ofDays).all({ owner, ...days }))),
    owners: async (days, page) =>
      database.read(() => ({
        owners: readRows(OwnerRow, "owner_usage", database.prepare(ofOwners).all({ ...days, ...page })),
        total: parseRow(CountRow, "owner_usage", database.prepare(count).get(days)).count,
      })),
    models: async (days, owner) =>
      database.read(() =>
        readRows(ModelRow, "model_usage", database.prepare(ofModels).all({ ...days, owner: owner ?? null })),
      ),
  };
}
