import { z } from "zod";
import { StopAction } from "../../records.ts";
import { asyncCommit } from "../database/database.ts";

/** Rows that the statements below return. */
export const IdRow = z.object({ id: z.number() });
/** What a heartbeat returns. */
export const HeartbeatRow = z.object({
  is_alive: z.boolean(),
  leads: z.boolean(),
  /** Milliseconds since 1970, by the clock of the database. */
  at: z.number(),
  live: z.number(),
  silent: z.number(),
  min_compatible: z.number(),
  has_left_over: z.boolean(),
  /** Milliseconds until the next lease of another server expires; null without other servers. */
  next_end: z.number().nullable(),
  stops: z.array(z.object({ run_id: z.string(), action: StopAction })),
});
/** A server and the process that runs it. */
export const ServerRow = z.object({ id: z.number(), host: z.string(), process: z.number() });
/** The result of `findUnacknowledged`. */
export const UnacknowledgedRow = z.object({ waits: z.boolean() });

/** Registers a new server with its lease. */
export const insertServer = `INSERT INTO servers (host, process, lease_until, graphs, workspaces, code_version)
  VALUES ($1, $2, now() + make_interval(secs => $3), $4, $5, $6) RETURNING id`;
/**
 * `left_over`: the open runs without an owner, or whose owner is no longer registered. A loose index scan finds the owners
 * with one lookup for each.
 */
export const orphanedRuns = `owners AS (
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
 * Renews the lease, unless another server has already removed this one. It reads only the open runs that concern this
 * server: orphaned runs, and own runs with a stop request.
 */
export const renewLease = `WITH RECURSIVE beat AS (
    UPDATE servers SET lease_until = now() + make_interval(secs => $2) WHERE id = $1 RETURNING id, workspaces, ${asyncCommit}
  ), ${orphanedRuns}
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
/** Whether an earlier server has not renewed its lease since this one joined: it still has the expiry in `$2`. */
export const findUnacknowledged = `SELECT EXISTS (
    SELECT FROM servers JOIN unnest($1::bigint[], $2::timestamptz[]) AS before (server, until)
      ON id = server AND lease_until = until AND lease_until >= now()
  ) AS waits`;
/** The other servers and the expiry of their leases. */
export const selectOtherServers = "SELECT id, lease_until::text AS until FROM servers WHERE id <> $1";
/** Asks the earlier servers for a heartbeat. */
export const requestHeartbeats = "SELECT pg_notify($1, $2)";
/** A server and the expiry of its lease. */
export const LeaseRow = z.object({ id: z.number(), until: z.string() });
/** Removes the servers whose leases have expired. */
export const deleteExpiredServers = "DELETE FROM servers WHERE lease_until < now() AND id <> $1";
/** Removes a server. Runs that it has not released count as crashed. */
export const deleteServer = "DELETE FROM servers WHERE id = $1";
/**
 * Removes a server that others have not removed, and releases its runs without counting a crash. Its row is locked first: others
 * take no run of a server that is registered. The count makes PostgreSQL remove it last.
 */
export const releaseRunsAndDeleteServer = `WITH own AS (SELECT id FROM servers WHERE id = $1 FOR UPDATE), released AS (
    UPDATE runs SET parked = true, owner = NULL
    WHERE id IN (SELECT run FROM open_runs WHERE server = $1) AND owner = (SELECT id FROM own) AND status = 'running'
    RETURNING id
  )
  DELETE FROM servers WHERE id = $1 AND (SELECT count(*) FROM released) >= 0`;
