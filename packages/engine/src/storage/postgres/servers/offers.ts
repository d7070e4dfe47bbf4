import { z } from "zod";
import { commonDate } from "../../../concurrency/common-time.ts";
import type { Mounted } from "../../cluster.ts";
import { readRows } from "../../rows.ts";
import type { PostgresDatabase } from "../database/database.ts";

/** What a server offers, and since when each graph is known to be served. */
const offer = `WITH served AS (UPDATE servers SET graphs = $2, workspaces = $4 WHERE id = $1), folders AS (
    INSERT INTO workspaces (id) SELECT unnest($4::text[]) ON CONFLICT DO NOTHING
  ), noted AS (
    INSERT INTO graphs (graph_id, since) SELECT id, $3 FROM unnest($2::text[]) AS id ON CONFLICT DO NOTHING
    RETURNING graph_id, since
  )
  SELECT graph_id, since FROM noted UNION SELECT graph_id, since FROM graphs WHERE graph_id = ANY ($2::text[])`;
const GraphRow = z.object({ graph_id: z.string(), since: z.string() });
/** The servers that serve a graph. */
const serversOf = "SELECT FROM servers WHERE $1 = ANY (graphs) IS NOT FALSE LIMIT 1";
/** Those of some runs whose folder no server has mounted. */
const homeless = `SELECT run_id, workspace FROM runs WHERE run_id = ANY ($1) AND workspace IS NOT NULL
  AND NOT EXISTS (SELECT FROM servers WHERE runs.workspace = ANY (servers.workspaces) IS NOT FALSE)`;
const HomelessRow = z.object({ run_id: z.string(), workspace: z.string() });

/** What a server offers to runs: the graphs that it serves, and the folder that it has mounted. */
export class Offers {
  readonly #database: PostgresDatabase;
  #graphs: readonly string[] | null = null;
  #mounted: Mounted | undefined;

  constructor(database: PostgresDatabase) {
    this.#database = database;
  }

  /** All where it is not said. */
  get graphs(): readonly string[] | null {
    return this.#graphs;
  }

  /** All where it is not said. */
  get workspaces(): readonly string[] | null {
    if (this.#graphs === null) return null;
    return this.#mounted === undefined ? [] : [this.#mounted.workspace];
  }

  get workspace(): string | undefined {
    return this.#mounted?.workspace;
  }

  /** The folder that a run of a graph works in; none where its graph uses none. */
  workspaceOf(graphId: string): string | null {
    return this.#mounted?.graphs.includes(graphId) === true ? this.#mounted.workspace : null;
  }

  /** See `Cluster.serves`; said for the server of a number. */
  async say(id: number, graphs: readonly string[], mounted?: Mounted): Promise<ReadonlyMap<string, string>> {
    this.#graphs = graphs;
    this.#mounted = mounted;
    const rows = await this.#database.rows(offer, [id, graphs, commonDate(), this.workspaces]);
    return new Map(readRows(GraphRow, "graphs", rows).map(({ graph_id, since }) => [graph_id, since]));
  }

  /** See `Cluster.isServed`. */
  async isServed(graph: string): Promise<boolean> {
    return (await this.#database.read(serversOf, [graph])).length > 0;
  }

  /** See `Cluster.unmounted`. */
  async unmounted(runIds: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#database.read(homeless, [runIds]);
    return new Map(readRows(HomelessRow, "runs", rows).map(({ run_id, workspace }) => [run_id, workspace]));
  }
}
