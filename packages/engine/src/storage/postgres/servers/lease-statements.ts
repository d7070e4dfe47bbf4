import { z } from "zod";
import { StopAction } from "../../records.ts";
import { later } from "../database/database.ts";

/** What the statements give. */
export const IdRow = z.object({ id: z.number() });
/** What a beat finds. */
export const BeatRow = z.object({
  is_alive: z.boolean(),
  leads: z.boolean(),
  /** Milliseconds since 1970, by the clock of the database. */
  at: z.number(),
  live: z.number(),
  silent: z.number(),
  min_compatible: z.number(),
  has_left_over: z.boolean(),
  /** Milliseconds until the first lease of another server ends, where it is not renewed; nothing where there is none. */
  next_end: z.number().nullable(),
  stops: z.array(z.object({ run_id: z.string(), action: StopAction })),
});
/** A server and where it runs. */
export const ServerRow = z.object({ id: z.number(), host: z.string(), process: z.number() });
/** The answer to `unheard`. */
export const WaitRow = z.object({ waits: z.boolean() });

/** A new server. */
export const join = `INSERT INTO servers (host, process, lease_until, graphs, workspaces)
  VALUES ($1, $2, now() + make_interval(secs => $3), $4, $5) RETURNING id`;
/**
 * The open runs that are in no server's hand, or in that of one that is gone: `left_over`. Whose runs there are is found by one
 * look into the index for each server.
 */
export const leftOver = `owners AS (
    SELECT min(server) AS owner FROM open_runs
    UNION ALL SELECT (SELECT min(o.server) FROM open_runs AS o WHERE o.server > owners.owner) FROM owners
      WHERE owners.owner IS NOT NULL
  ), left_over AS (
    SELECT run FROM open_runs WHERE server IS NULL
    UNION ALL SELECT run FROM open_runs WHERE server IN (
      SELECT owner FROM owners WHERE owner IS NOT NULL AND NOT EXISTS (SELECT FROM servers WHERE servers.id = owners.owner)
    )
  )`;
/**
 * Renews the lease, unless another server has taken this one for gone. Of the open runs it reads those that are its concern:
 * what is left over, and what is to be stopped here.
 */
export const renew = `WITH RECURSIVE beat AS (
    UPDATE servers SET lease_until = now() + make_interval(secs => $2) WHERE id = $1 RETURNING id, workspaces, ${later}
  ), ${leftOver}
  SELECT EXISTS (SELECT FROM beat) AS is_alive, count(*) AS live, count(*) FILTER (WHERE lease_until < now()) AS silent,
    extract(epoch FROM min(lease_until) FILTER (WHERE id <> $1) - now())::float8 * 1000 AS next_end,
    coalesce(min(id) FILTER (WHERE lease_until >= now()) = $1, false) AS leads,
    (SELECT min_compatible FROM schema_version), extract(epoch FROM clock_timestamp())::float8 * 1000 AS at,
    EXISTS (SELECT FROM runs WHERE id = ANY (ARRAY(SELECT run FROM left_over))
      AND (stop_requested IS NOT NULL OR (graph_id = ANY ($3) IS NOT FALSE
        AND (workspace IS NULL OR workspace = ANY ((SELECT workspaces FROM beat)::text[]) IS NOT FALSE)))) AS has_left_over,
    (SELECT coalesce(json_agg(json_build_object('run_id', run_id, 'action', stop_requested)), '[]')
      FROM open_runs JOIN runs ON runs.id = open_runs.run
      WHERE server = $1 AND has_stop AND stop_requested IS NOT NULL) AS stops
  FROM servers`;
/** Whether there is a server which came before and may not have heard of this one: its lease is still that of `$2`. */
export const unheard = `SELECT EXISTS (
    SELECT FROM servers JOIN unnest($1::bigint[], $2::timestamptz[]) AS before (server, until)
      ON id = server AND lease_until = until AND lease_until >= now()
  ) AS waits`;
/** The other servers. */
export const othersOf = "SELECT id, lease_until::text AS until FROM servers WHERE id <> $1";
/** Tells the servers that came before to beat. */
export const askToBeat = "SELECT pg_notify($1, $2)";
/** A server and the end of its lease. */
export const LeaseRow = z.object({ id: z.number(), until: z.string() });
/** Removes the servers whose leases have ended. */
export const removeSilent = "DELETE FROM servers WHERE lease_until < now() AND id <> $1";
