import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { unprivilegedUser, withClient } from "./postgres.ts";

/** PgBouncer between a server and the PostgreSQL of tests: after each transaction a connection may serve another client. */
export interface Pooler {
  /** The address of the same database behind it. */
  of(url: string): string;
  /** Stops it, and removes what it wrote. */
  stop(): Promise<void>;
}

/** The program: that of MILLRACE_TEST_PGBOUNCER, or an installed one. */
function programOfPooler(): string | undefined {
  const given = process.env["MILLRACE_TEST_PGBOUNCER"];
  if (given !== undefined) return given;
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"];
  return folders.map((folder) => join(folder, "pgbouncer")).find((path) => existsSync(path));
}

/** Starts one in front of a server that it asks for. `undefined`, with a line on the console, where there is no PgBouncer. */
export async function startPooler(findServer: () => Promise<string | undefined>): Promise<Pooler | undefined> {
  const program = programOfPooler();
  if (program === undefined) {
    process.stderr.write("No PgBouncer (apt install pgbouncer, or MILLRACE_TEST_PGBOUNCER). Its tests are skipped.\n");
    return undefined;
  }
  const url = await findServer();
  if (url === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "millrace-pooler-"));
  const settings = join(folder, "pgbouncer.ini");
  const server = new URL(url);
  const host = server.searchParams.get("host") ?? server.hostname;
  writeFileSync(
    settings,
    `[databases]
* = host=${host} port=${server.port || "5432"} user=${server.username}
[pgbouncer]
pool_mode = transaction
auth_type = any
listen_port = 6432
unix_socket_dir = ${folder}
max_client_conn = 200
default_pool_size = 3
server_idle_timeout = 1
`,
  );
  if (unprivilegedUser.uid !== undefined) {
    for (const path of [folder, settings]) chownSync(path, unprivilegedUser.uid, unprivilegedUser.gid);
    chmodSync(tmpdir(), statSync(tmpdir()).mode | 0o011);
  }
  const child = spawn(program, [settings], { ...unprivilegedUser, cwd: "/", stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "exit");
  let output = "";
  child.stderr.on("data", (part) => (output += String(part)));
  const behind = (direct: string): string => {
    const address = new URL(direct);
    address.searchParams.set("host", folder);
    address.port = "6432";
    return address.href;
  };
  const stop = async (): Promise<void> => {
    child.kill("SIGQUIT");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (;;) {
    try {
      await withClient(behind(url), async (client) => void (await client.query("SELECT 1")));
      return { of: behind, stop };
    } catch (error) {
      if (child.exitCode !== null) throw new Error(`pgbouncer ended: ${output}`, { cause: error });
      await sleep(20);
    }
  }
}
