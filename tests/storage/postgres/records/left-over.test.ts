import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { acquireRuns } from "@millrace/engine/storage/postgres/run-records/acquire";
import { renewLease } from "@millrace/engine/storage/postgres/servers/lease-statements";
import { runRecord, sessionRecord } from "../../../contract/records.ts";
import { startPostgres, withClient } from "../../../support/processes/postgres.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

interface PlanNode {
  "Relation Name"?: string | undefined;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number | undefined;
  Plans?: PlanNode[] | undefined;
}
const PlanNode: z.ZodType<PlanNode> = z.lazy(() =>
  z.object({
    "Relation Name": z.string().optional(),
    "Actual Rows": z.number(),
    "Actual Loops": z.number(),
    "Rows Removed by Filter": z.number().optional(),
    Plans: z.array(PlanNode).optional(),
  }),
);
const Explained = z.tuple([z.object({ "QUERY PLAN": z.tuple([z.object({ Plan: PlanNode })]) })]);

/** How many rows of runs a plan has read. */
function rowsRead(node: PlanNode): number {
  const name = node["Relation Name"];
  const own = (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0)) * node["Actual Loops"];
  const below = (node.Plans ?? []).map(rowsRead).reduce((sum, rows) => sum + rows, 0);
  return below + (name === "runs" || name === "open_runs" ? own : 0);
}

describe.skipIf(server === undefined)("runs that a stopped server has left over", () => {
  it("are found and taken without a scan of the runs of other servers", async () => {
    const url = (await server?.create()) ?? "";
    const one = await createPostgresStorage(url, { leaseSeconds: 60 });
    const other = await createPostgresStorage(url, { leaseSeconds: 60 });
    try {
      await one.sessions.create(sessionRecord("s0"));
      await one.runs.admit(runRecord("r0", "s0"));
      await withClient(url, async (client) => {
        await client.query(`INSERT INTO sessions (session_id, owner, created_at, updated_at, status, metadata, config, interrupts)
          SELECT 's' || n, owner, created_at, updated_at, status, metadata, config, interrupts
          FROM sessions, generate_series(1, 2000) AS n WHERE session_id = 's0'`);
        await client.query(`INSERT INTO runs (run_id, session, assistant_id, graph_id, status, kwargs, metadata, multitask_strategy,
            is_temporary, attempt, event_mark, error, created_at, updated_at, owner)
          SELECT 'r' || substr(sessions.session_id, 2), sessions.id, assistant_id, graph_id, r.status, kwargs, r.metadata,
            multitask_strategy, is_temporary, attempt, event_mark, error, r.created_at, r.updated_at, r.owner
          FROM sessions, runs AS r WHERE r.run_id = 'r0' AND sessions.session_id <> 's0'`);
        await client.query("UPDATE runs SET owner = NULL WHERE run_id = 'r7'");
        await client.query("VACUUM ANALYZE runs, open_runs, sessions, servers");
        const explain = async (sql: string, values: unknown[]): Promise<number> => {
          const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql}`, values);
          return rowsRead(Explained.parse(rows)[0]["QUERY PLAN"][0].Plan);
        };
        expect(await explain(renewLease, [other.cluster.id, 60, ["agent"]])).toBeLessThan(20);
        await client.query("BEGIN");
        expect(await explain(acquireRuns, [other.cluster.id, 10, false, false])).toBeLessThan(20);
        await client.query("ROLLBACK");
      });
      expect((await other.runs.acquire({ sessions: 10 })).map(({ run_id }) => run_id)).toEqual(["r7"]);
      expect(await other.runs.acquire({ sessions: 10 })).toEqual([]);
    } finally {
      await one.close();
      await other.close();
    }
  });
});
