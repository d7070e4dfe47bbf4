import type { Migration } from "../migrations.ts";
import { openRunFunctions } from "./005-run-functions.ts";
import { writeFunctions } from "./005-write-functions.ts";

/**
 * Which runs are not over, in a small table of its own. The row of a run is written anew with each of its writes; as long as
 * none of them, and not its end either, changes what an index is over, PostgreSQL changes no index.
 */
export const openRuns: Migration = {
  id: 5,
  sql: `
    CREATE TABLE open_runs (
      run bigint PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
      session bigint NOT NULL,
      status text COLLATE "C" NOT NULL
    ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
    INSERT INTO open_runs (run, session, status)
      SELECT id, session, status FROM runs WHERE status IN ('pending', 'running');
    CREATE INDEX open_runs_of_session ON open_runs (session);
    CREATE UNIQUE INDEX open_runs_one_running ON open_runs (session) WHERE status = 'running';
    CREATE FUNCTION millrace_note_open_run_v1() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF new.status IN ('pending', 'running') THEN
        INSERT INTO open_runs (run, session, status) VALUES (new.id, new.session, new.status)
        ON CONFLICT (run) DO UPDATE SET status = excluded.status;
      ELSE
        DELETE FROM open_runs WHERE run = new.id;
      END IF;
      RETURN NULL;
    END $$;
    CREATE TRIGGER run_opened AFTER INSERT ON runs
      FOR EACH ROW WHEN (new.status IN ('pending', 'running')) EXECUTE FUNCTION millrace_note_open_run_v1();
    CREATE TRIGGER run_status_changed AFTER UPDATE OF status ON runs
      FOR EACH ROW WHEN (old.status <> new.status) EXECUTE FUNCTION millrace_note_open_run_v1();
    DROP INDEX runs_one_running, runs_unfinished, runs_with_log;
    CREATE INDEX runs_with_log ON runs (created_at) WHERE log_kept;
    ${writeFunctions}
    ${openRunFunctions}
  `,
};
