import { z } from "zod";
import { StopAction } from "../../records.ts";
import { later } from "../database/database.ts";

/** What the statements give. */
export const IdRow = z.object({ id: z.number() });
/** What a beat finds. */
export const BeatRow = z.object({
  is_alive: z.boolean(),
  live: z.number(),
  silent: z.number(),
  min_compatible: z.number(),
  has_left_over: z.boolean(),
  stops: z.array(z.object({ run_id: z.string(), action: StopAction })),
});
/** A server and where it runs. */
export const ServerRow = z.object({ id: z.number(), host: z.string(), process: z.number() });
/** The answer to `unheard`. */
export const WaitRow = z.object({ waits: z.boolean() });

/** A new server. */
export const join = `INSERT INTO servers (host, process, lease_until, graphs)
  VALUES ($1, $2, now() + make_interval(secs => $3), $4) RETURNING id`;
/** Renews the lease, unless another server has taken this one for gone. */
export const renew = `WITH beat AS (
    UPDATE servers SET lease_until = now() + make_interval(secs => $2) WHERE id = $1 RETURNING id, ${later}
  ), open AS (
    SELECT run_id, owner, graph_id, stop_requested AS action FROM open_runs JOIN runs ON runs.id = open_runs.run
  )
  SELECT EXISTS (SELECT FROM beat) AS is_alive, count(*) AS live, count(*) FILTER (WHERE lease_until < now()) AS silent,
    (SELECT min_compatible FROM schema_version),
    EXISTS (SELECT FROM open WHERE NOT EXISTS (SELECT FROM servers WHERE servers.id = owner)
      AND (action IS NOT NULL OR graph_id = ANY ($3) IS NOT FALSE)) AS has_left_over,
    (SELECT coalesce(json_agg(open), '[]') FROM open WHERE owner = $1 AND action IS NOT NULL) AS stops
  FROM servers`;
/** Whether there is a server which came before and may not have heard of this one: its lease is still that of `$2`. */
export const unheard = `SELECT EXISTS (
    SELECT FROM servers JOIN unnest($1::bigint[], $2::timestamptz[]) AS before (server, until)
      ON id = server AND lease_until = until AND lease_until >= now()
  ) AS waits`;
/** Tells the servers that came before to beat. */
export const askToBeat = "SELECT pg_notify($1, $2)";
/** A server and the end of its lease. */
export const LeaseRow = z.object({ id: z.number(), until: z.string() });
