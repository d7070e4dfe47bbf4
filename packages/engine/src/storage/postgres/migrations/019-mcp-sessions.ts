import type { Migration } from "../migrations.ts";

/**
 * The sessions of MCP clients, and the messages in them that any server may have to read. The request of a call is its message
 * 0, which names the server that writes the others.
 */
export const mcpSessions: Migration = {
  id: 19,
  oldest: 9,
  sql: `
    CREATE TABLE mcp_sessions (
      session_id text COLLATE "C" PRIMARY KEY,
      owner text COLLATE "C" NOT NULL,
      capabilities text NOT NULL,
      used_at timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 50);
    CREATE INDEX mcp_sessions_of_owner ON mcp_sessions (owner);
    CREATE TABLE mcp_messages (
      session_id text COLLATE "C" NOT NULL REFERENCES mcp_sessions ON DELETE CASCADE,
      stream text COLLATE "C" NOT NULL,
      number int NOT NULL,
      message text NOT NULL,
      server bigint,
      written_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (session_id, stream, number)
    ) WITH (autovacuum_vacuum_scale_factor = 0.05);
    CREATE INDEX mcp_messages_by_time ON mcp_messages (written_at);
  `,
};
