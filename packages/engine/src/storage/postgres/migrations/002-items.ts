import type { Migration } from "../migrations.ts";

/**
 * Assistants, the items of the store and the index of files. Texts of people are JSON, since plain text takes no NUL; a
 * namespace is its labels, each with a dot behind it. Vectors are 32-bit numbers, little end first.
 */
export const items: Migration = {
  id: 2,
  sql: `
    CREATE TABLE assistants (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      assistant_id text COLLATE "C" NOT NULL UNIQUE,
      owner text COLLATE "C",
      is_system smallint NOT NULL,
      version int NOT NULL,
      created_at text COLLATE "C" NOT NULL,
      updated_at text COLLATE "C" NOT NULL
    );
    CREATE TABLE assistant_versions (
      assistant bigint NOT NULL REFERENCES assistants (id) ON DELETE CASCADE,
      version int NOT NULL,
      graph_id text COLLATE "C" NOT NULL,
      name text COLLATE "C" NOT NULL,
      -- The name as it is looked for in any case.
      found_by text COLLATE "C" NOT NULL,
      description text NOT NULL,
      config text NOT NULL,
      context text NOT NULL,
      metadata text NOT NULL,
      created_at text COLLATE "C" NOT NULL,
      PRIMARY KEY (assistant, version)
    );
    CREATE TABLE store_items (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      owner text COLLATE "C" NOT NULL,
      namespace text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      value text NOT NULL,
      indexed text NOT NULL,
      ttl double precision,
      expires_at text COLLATE "C",
      created_at text COLLATE "C" NOT NULL,
      updated_at text COLLATE "C" NOT NULL,
      UNIQUE (owner, namespace, key)
    );
    CREATE INDEX store_items_by_change ON store_items (owner, updated_at, id);
    CREATE INDEX store_items_expiring ON store_items (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE item_vectors (
      item bigint NOT NULL REFERENCES store_items (id) ON DELETE CASCADE,
      place int NOT NULL,
      made_by text NOT NULL,
      vector bytea,
      PRIMARY KEY (item, place)
    );
    CREATE TABLE indexed_files (
      file bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      index_name text COLLATE "C" NOT NULL,
      path text COLLATE "C" NOT NULL,
      stamp text NOT NULL,
      hash text NOT NULL,
      bytes bigint NOT NULL,
      pieces int NOT NULL,
      UNIQUE (index_name, path)
    );
    CREATE TABLE file_pieces (
      piece bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      file bigint NOT NULL REFERENCES indexed_files (file) ON DELETE CASCADE,
      first_line int NOT NULL,
      last_line int NOT NULL,
      text text NOT NULL,
      vector bytea NOT NULL
    );
    CREATE INDEX pieces_of_file ON file_pieces (file);
  `,
};
