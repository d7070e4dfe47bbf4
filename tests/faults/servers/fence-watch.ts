import type pg from "pg";
import { z } from "zod";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { withClient } from "../../support/processes/postgres.ts";

/** The two functions through which an attempt's steps and its end are written, and what their fence looks like. */
const fenced = [
  {
    name: "millrace_write",
    fence: /AND \(p_attempt IS NULL OR attempt = p_attempt\)[\s\S]*?(?=RETURNING id, writes)/u,
    open: "",
  },
  // Where the attempt knows the key of its run, which is so from its second write on.
  { name: "millrace_write", fence: /AND attempt = p_attempt AND [\s\S]*?(?=RETURNING id, writes)/gu, open: "" },
  {
    name: "millrace_finish",
    fence: /IF ended\.status NOT IN [\s\S]*?THEN RETURN; END IF;/u,
    open: "",
  },
  { name: "millrace_finish", fence: /IF ended\.writes <> p_writes OR /u, open: "IF false AND " },
] as const;

const Function = z.object({
  name: z.string(),
  definition: z.string(),
  arguments: z.string(),
  result: z.string(),
  names: z.array(z.string()),
});

/**
 * Makes the tables of an empty database and notes from then on each write of an attempt that is accepted, with whether the run
 * was in its hand at that moment. `isOpen`: the fence is taken away, as a control of the test.
 */
export async function watchWrites(database: string, isOpen = false): Promise<void> {
  await (await createPostgresStorage(database)).close();
  await withClient(database, async (client) => {
    await client.query(
      "CREATE TABLE watched_writes (id bigint GENERATED ALWAYS AS IDENTITY, what text NOT NULL, is_own boolean NOT NULL)",
    );
    if (isOpen) await openFence(client);
    const write = await newest(client, "millrace_write");
    await wrap(
      client,
      write,
      `DECLARE answer bigint;
      BEGIN
        answer := ${write.name}_watched(${write.names.join(", ")});
        IF answer IS NOT NULL THEN
          INSERT INTO watched_writes (what, is_own)
          SELECT 'step', attempt = coalesce(p_attempt, attempt) AND owner IS NOT DISTINCT FROM coalesce(p_server, owner)
          FROM runs WHERE run_id = p_run_id;
        END IF;
        RETURN answer;
      END`,
    );
    const finish = await newest(client, "millrace_finish");
    await wrap(
      client,
      finish,
      `BEGIN
        RETURN QUERY SELECT * FROM ${finish.name}_watched(${finish.names.join(", ")});
        INSERT INTO watched_writes (what, is_own)
        SELECT 'end', attempt = coalesce(p_attempt, attempt) AND owner IS NOT DISTINCT FROM coalesce(p_server, owner)
        FROM runs WHERE run_id = p_run_id AND status = p_status AND runs.updated_at = p_ended_at;
      END`,
    );
  });
}

const Counts = z.object({ accepted: z.number(), stale: z.number() });

/** How many writes were accepted, and how many of them came from an attempt that was not the run's any more. */
export async function countWrites(database: string): Promise<z.infer<typeof Counts>> {
  const sql = "SELECT count(*)::int AS accepted, count(*) FILTER (WHERE NOT is_own)::int AS stale FROM watched_writes";
  return await withClient(database, async (client) => Counts.parse((await client.query(sql)).rows[0]));
}

async function openFence(client: pg.Client): Promise<void> {
  for (const { name, fence, open } of fenced) {
    const { definition } = await newest(client, name);
    const opened = definition.replace(fence, open);
    if (opened === definition) throw new Error(`The fence of ${name} looks different now.`);
    await client.query(opened);
  }
}

/** The newest version of a function, which is the one that servers call. */
async function newest(client: pg.Client, name: string): Promise<z.infer<typeof Function>> {
  const sql = `SELECT proname AS name, pg_get_functiondef(oid) AS definition, pg_get_function_arguments(oid) AS arguments,
      pg_get_function_result(oid) AS result, proargnames[1:pronargs] AS names
    FROM pg_proc WHERE proname ~ $1 ORDER BY substring(proname FROM '[0-9]+$')::int DESC LIMIT 1`;
  return Function.parse((await client.query(sql, [`^${name}_v[0-9]+$`])).rows[0]);
}

/** Puts another function in the place of one, which goes on under another name. */
async function wrap(client: pg.Client, of: z.infer<typeof Function>, body: string): Promise<void> {
  await client.query(`ALTER FUNCTION ${of.name} RENAME TO ${of.name}_watched`);
  await client.query(
    `CREATE FUNCTION ${of.name}(${of.arguments}) RETURNS ${of.result} LANGUAGE plpgsql AS $watch$ ${body}; $watch$`,
  );
}
