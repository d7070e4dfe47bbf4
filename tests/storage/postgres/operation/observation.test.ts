import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FaultProxy } from "@millrace/testing/fault-proxy";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { PostgresDatabase } from "@millrace/engine/storage/postgres/database/database";
import { inspectPostgres } from "@millrace/engine/storage/postgres/database/inspect-database";
import { migrate } from "@millrace/engine/storage/postgres/migrations";
import { migrations } from "@millrace/engine/storage/postgres/migrations/index";
import { startPostgres, withClient } from "../../../support/processes/postgres.ts";
import { programEnvironment } from "../../../support/processes/program.ts";
import { projectFolder } from "../../../support/source-files.ts";
import { startTestServer } from "../../../support/test-server.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

/** The value of a series of `/metrics`; `undefined` where there is none. */
function valueOf(metrics: string, series: string): number | undefined {
  const line = metrics.split("\n").find((one) => one.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length));
}

describe.skipIf(server === undefined)("with a database in PostgreSQL an operator", () => {
  let url = "";
  let database: PostgresDatabase;
  beforeEach(async () => {
    url = (await server?.create()) ?? "";
    database = new PostgresDatabase(url);
  });
  afterEach(() => database.close());

  it("sees its address, version and size, before and after the first start", async () => {
    const look = { place: database.place, version: expect.stringMatching(/^\d+\.\d+/u), bytes: expect.any(Number) };
    expect(await inspectPostgres(url)).toEqual({ ...look, hasSchema: false });
    await migrate(database, migrations);
    expect(await inspectPostgres(url)).toEqual({ ...look, hasSchema: true });
  });

  it("reads about a later version, an unfinished move and missing rights, with what to do", async () => {
    const name = `reader_${process.pid}`;
    await database.change(`CREATE ROLE ${name} LOGIN`);
    const ofReader = url.replace("postgres@", `${name}@`);
    await database.change("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
    await expect(inspectPostgres(ofReader)).rejects.toMatchObject({
      code: "storage_readonly",
      message: `The role ${name} may not make tables in the database ${database.place}.`,
      suggestion: expect.stringContaining(`OWNER TO ${name}`),
    });
    await migrate(database, migrations);
    await database.change(
      `GRANT ALL ON SCHEMA public TO ${name}; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${name}`,
    );
    await expect(inspectPostgres(ofReader)).rejects.toMatchObject({
      code: "storage_readonly",
      message: expect.stringMatching(/may not write the table \w+/u),
    });
    await database.change(`DROP OWNED BY ${name}; DROP ROLE ${name}`);
    await database.change("CREATE TABLE unfinished_move ()");
    await expect(inspectPostgres(url)).rejects.toMatchObject({ code: "conflict" });
    await database.change("DROP TABLE unfinished_move");
    await database.change("UPDATE schema_version SET current = 99, min_compatible = 99");
    await expect(inspectPostgres(url)).rejects.toMatchObject({ code: "storage_newer" });
  });

  it("sees its size and its times in the metrics, and is warned when it refuses writes", async () => {
    const direct = new URL(url);
    const [folder, port] = [direct.searchParams.get("host"), Number(direct.port || 5432)];
    let isAway = false;
    const proxy = new FaultProxy(
      () => (folder === null ? port : `${folder}/.s.PGSQL.${port}`),
      () => (isAway ? { kind: "reset", after: 1 } : { kind: "none" }),
    );
    await proxy.listen();
    direct.searchParams.delete("host");
    direct.host = `127.0.0.1:${proxy.port}`;
    const served = await startTestServer({ database: direct.href });
    const ask = async (path: string): Promise<[number, string]> => {
      const answer = await served.send("GET", path);
      return [answer.status, await answer.text()];
    };
    try {
      await served.client.runs.wait(null, "counter", { input: { count: 1 } });
      const [, metrics] = await ask("/metrics");
      const size = 'millrace_database_bytes{file="database"}';
      expect(valueOf(metrics, size)).toBeGreaterThan(1_000_000);
      expect(valueOf(metrics, "millrace_database_commit_seconds_count")).toBeGreaterThan(1);
      expect(await ask("/health/ready")).toEqual([200, '{"status":"ready"}']);
      isAway = true;
      proxy.cut();
      await expect.poll(() => ask("/health/ready")).toEqual([503, expect.stringContaining("MILLRACE_DATABASE")]);
      const [status, away] = await ask("/metrics");
      expect([status, valueOf(away, size)]).toEqual([200, undefined]);
      expect(valueOf(away, 'millrace_info{version="0.2.0"}')).toBe(1);
      isAway = false;
      await expect.poll(() => ask("/health/ready")).toEqual([200, '{"status":"ready"}']);
    } finally {
      isAway = false;
      await served.remove();
      await proxy.close();
    }
  });

  it("learns from the commands for SQLite which ones replace them, and from doctor the state of the database", async () => {
    const cwd = mkdtempSync(join(tmpdir(), "millrace-observation-"));
    const command = (...words: string[]) =>
      spawnSync(process.execPath, [join(projectFolder, "bin/millrace.cjs"), ...words], {
        cwd,
        encoding: "utf8",
        env: { ...programEnvironment, HOME: cwd, PORT: "0", MILLRACE_MODEL: "offline", MILLRACE_DATABASE: url },
      });
    try {
      for (const [words, instead] of [
        [["backup", "a.db"], "pg_dump --format=custom"],
        [["restore", "a.db"], "pg_restore --no-owner"],
        [["prune", "--older-than", "1d"], "POST /threads/prune"],
      ] as const) {
        const { status, stdout, stderr } = command(...words);
        expect([status, stdout]).toEqual([1, ""]);
        expect(stderr).toMatch(new RegExp(`^millrace ${words[0]} is for SQLite.*MILLRACE_DATABASE`, "u"));
        expect(stderr).toContain(instead);
      }
      const { status, stdout } = command("doctor");
      expect(stdout).toMatch(/^ok {5}database {6}PostgreSQL \d+.*: a start makes its tables/mu);
      expect(stdout).not.toMatch(/^note {3}database/mu);
      expect(status).toBe(0);
      // Doctor sees every transaction as eleven minutes older.
      await database.change(`CREATE VIEW public.pg_stat_activity AS SELECT datname, pid, application_name, backend_type,
          backend_xid, backend_xmin, xact_start - interval '11 minutes' AS xact_start FROM pg_catalog.pg_stat_activity
        WHERE pid <> pg_backend_pid()`);
      await database.change(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET search_path = public, pg_catalog`);
      await withClient(url, async (client) => {
        await client.query("SET application_name = 'report'; BEGIN; CREATE TABLE held ()");
        const [, pid] = /process (\d+) \("report"\) is 11 min old/u.exec(command("doctor").stdout) ?? [];
        expect(await client.query("SELECT pg_backend_pid()::text AS pid")).toMatchObject({ rows: [{ pid }] });
      });
    } finally {
      rmSync(cwd, { recursive: true, force: true });
    }
  });
});
