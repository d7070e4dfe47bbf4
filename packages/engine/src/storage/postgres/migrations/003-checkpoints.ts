import type { Migration } from "../migrations.ts";
import { writeFunction } from "./003-write-function.ts";

/**
 * Checkpoints as SQLite has them, with what runs have told and models were sent. A value is `text`, or `bytes` where JSON
 * is not enough. Keys come from one sequence, a block at a time, so that rows that refer to one another go into one
 * statement. Nothing here is ordered but by key or by the bytes of an id.
 */
export const checkpoints: Migration = {
  id: 3,
  sql: `
    CREATE SEQUENCE checkpoint_keys INCREMENT 1000;
    CREATE TABLE checkpoint_threads (
      key bigint PRIMARY KEY,
      thread_id text COLLATE "C" NOT NULL UNIQUE,
      clock_went_back smallint NOT NULL DEFAULT 0
    );
    CREATE TABLE checkpoint_namespaces (
      key bigint PRIMARY KEY,
      thread bigint NOT NULL REFERENCES checkpoint_threads ON DELETE CASCADE,
      ns text COLLATE "C" NOT NULL,
      UNIQUE (thread, ns)
    );
    CREATE TABLE checkpoint_runs (
      key bigint PRIMARY KEY,
      thread bigint NOT NULL REFERENCES checkpoint_threads ON DELETE CASCADE,
      run_id text COLLATE "C" NOT NULL,
      UNIQUE (thread, run_id)
    );
    CREATE TABLE checkpoint_rows (
      key bigint PRIMARY KEY,
      namespace bigint NOT NULL REFERENCES checkpoint_namespaces ON DELETE CASCADE,
      id text COLLATE "C" NOT NULL,
      parent text COLLATE "C",
      run bigint,
      base bigint,
      data text,
      crc bigint,
      UNIQUE (namespace, id)
    );
    CREATE TABLE checkpoint_writes (
      checkpoint bigint NOT NULL REFERENCES checkpoint_rows ON DELETE CASCADE,
      task text COLLATE "C" NOT NULL,
      part int NOT NULL,
      path text NOT NULL,
      run bigint,
      text text,
      bytes bytea,
      crc bigint NOT NULL,
      PRIMARY KEY (checkpoint, task, part)
    );
    CREATE TABLE checkpoint_blobs (
      key bigint PRIMARY KEY,
      thread bigint NOT NULL REFERENCES checkpoint_threads ON DELETE CASCADE,
      text text,
      bytes bytea,
      crc bigint NOT NULL
    );
    CREATE INDEX checkpoint_blobs_by_thread ON checkpoint_blobs (thread);
    CREATE TABLE checkpoint_items (
      thread bigint NOT NULL REFERENCES checkpoint_threads ON DELETE CASCADE,
      first int NOT NULL,
      count int NOT NULL,
      text text,
      bytes bytea,
      crc bigint NOT NULL,
      PRIMARY KEY (thread, first)
    );
    CREATE TABLE run_events (
      run bigint NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
      first_id int NOT NULL,
      last_id int NOT NULL,
      text text,
      bytes bytea,
      PRIMARY KEY (run, last_id)
    );
    CREATE TABLE model_texts (
      id bigint GENERATED ALWAYS AS IDENTITY,
      hash text COLLATE "C" PRIMARY KEY,
      text text NOT NULL
    );
    CREATE TABLE model_requests (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      session bigint NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
      run_id text COLLATE "C" NOT NULL,
      number int NOT NULL,
      node text COLLATE "C" NOT NULL,
      is_silent int NOT NULL,
      asked_at text COLLATE "C" NOT NULL,
      head text COLLATE "C" NOT NULL,
      tools text COLLATE "C" NOT NULL,
      model_call_id text COLLATE "C",
      text text,
      bytes bytea
    );
    CREATE INDEX model_requests_by_head ON model_requests (head);
    CREATE INDEX model_requests_of_run ON model_requests (session, run_id, number);
    CREATE INDEX model_requests_of_node ON model_requests (session, node, id);
    CREATE FUNCTION millrace_forget_head_v1() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM model_texts WHERE hash = old.head AND NOT EXISTS (SELECT FROM model_requests WHERE head = old.head);
      RETURN NULL;
    END $$;
    CREATE TRIGGER model_head_removed AFTER DELETE ON model_requests
      FOR EACH ROW EXECUTE FUNCTION millrace_forget_head_v1();
    CREATE TABLE server_lock (
      only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
      holder text NOT NULL,
      host text NOT NULL,
      process int NOT NULL,
      until timestamptz NOT NULL
    );
    CREATE TABLE owner_usage (
      owner text COLLATE "C" NOT NULL,
      day text COLLATE "C" NOT NULL,
      requests bigint NOT NULL,
      input_tokens double precision NOT NULL,
      output_tokens double precision NOT NULL,
      cached_tokens double precision NOT NULL,
      cost double precision NOT NULL,
      PRIMARY KEY (owner, day)
    );
    ${writeFunction}
  `,
};
