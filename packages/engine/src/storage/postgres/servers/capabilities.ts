import { z } from "zod";
import { clusterDate } from "../../../concurrency/cluster-time.ts";
import type { MountedWorkspace } from "../../cluster.ts";
import { readRows } from "../../rows.ts";
import type { PostgresDatabase, Values } from "../database/database.ts";

/** Stores what a server can run, and returns since when each graph has been served. */
const announceStatement = `WITH served AS (UPDATE servers SET graphs = $2, workspaces = $4 WHERE id = $1), folders AS (
    INSERT INTO workspaces (id) SELECT unnest($4::text[]) ON CONFLICT DO NOTHING
  ), noted AS (
    INSERT INTO graphs (graph_id, since) SELECT id, $3 FROM unnest($2::text[]) AS id ON CONFLICT DO NOTHING
    RETURNING graph_id, since
  )
  SELECT graph_id, since FROM noted UNION SELECT graph_id, since FROM graphs WHERE graph_id = ANY ($2::text[])`;
const GraphRow = z.object({ graph_id: z.string(), since: z.string() });
/** The servers that serve a graph. */
const serversOf = "SELECT FROM servers WHERE $1 = ANY (graphs) IS NOT FALSE LIMIT 1";
/** The given runs whose workspace no server has mounted. */
const selectUnmounted = `SELECT run_id, workspace FROM runs WHERE run_id = ANY ($1) AND workspace IS NOT NULL
  AND NOT EXISTS (SELECT FROM servers WHERE runs.workspace = ANY (servers.workspaces) IS NOT FALSE)`;
const UnmountedRow = z.object({ run_id: z.string(), workspace: z.string() });

/** Which runs a server can execute: the graphs that it serves, the workspace that it has mounted, and its code version. */
export class ServerCapabilities {
  readonly #database: PostgresDatabase;
  #graphs: readonly string[] | null = null;
  #mounted: MountedWorkspace | undefined;
  #codeVersion: string | null;

  /** `codeVersion`: others leave it the runs that began with this version. */
  constructor(database: PostgresDatabase, codeVersion: string | undefined) {
    this.#database = database;
    this.#codeVersion = codeVersion ?? null;
  }

  /** The last values of `insertServer`. */
  get values(): Values {
    return [this.graphs, this.workspaces, this.#codeVersion];
  }

  /** Null until announced: any graph. */
  get graphs(): readonly string[] | null {
    return this.#graphs;
  }

  /** Null until announced: any workspace. */
  get workspaces(): readonly string[] | null {
    if (this.#graphs === null) return null;
    return this.#mounted === undefined ? [] : [this.#mounted.workspace];
  }

  get workspace(): string | undefined {
    return this.#mounted?.workspace;
  }

  /** The workspace of a graph's runs; null for a graph that uses none. */
  workspaceOf(graphId: string): string | null {
    return this.#mounted?.graphs.includes(graphId) === true ? this.#mounted.workspace : null;
  }

  /** See `Cluster.announceGraphs`. */
  async announce(
    id: number,
    graphs: readonly string[],
    mounted?: MountedWorkspace,
  ): Promise<ReadonlyMap<string, string>> {
    this.#graphs = graphs;
    this.#mounted = mounted;
    const rows = await this.#database.rows(announceStatement, [id, graphs, clusterDate(), this.workspaces]);
    return new Map(readRows(GraphRow, "graphs", rows).map(({ graph_id, since }) => [graph_id, since]));
  }

  /** The server stops: others leave it no more runs because of its code version. */
  async withdraw(id: number, database: PostgresDatabase): Promise<void> {
    this.#codeVersion = null;
    await database.change("UPDATE servers SET code_version = NULL WHERE id = $1", [id]);
  }

  /** See `Cluster.isServed`. */
  async isServed(graph: string): Promise<boolean> {
    return (await this.#database.read(serversOf, [graph])).length > 0;
  }

  /** See `Cluster.unmountedWorkspaces`. */
  async unmounted(runIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#database.read(selectUnmounted, [runIds]);
    return new Map(readRows(UnmountedRow, "runs", rows).map(({ run_id, workspace }) => [run_id, workspace]));
  }
}
