import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createPostgresStorage } from "@millrace/engine/storage/postgres/storage";
import { startPostgres, withClient } from "../../../support/processes/postgres.ts";
import { programEnvironment } from "../../../support/processes/program.ts";
import { projectFolder } from "../../../support/source-files.ts";
import { runRecord, sessionRecord } from "../../../contract/records.ts";

const page = readFileSync(join(projectFolder, "docs/operate/outgrowing-one-file.md"), "utf8");
const server = await startPostgres();
afterAll(() => server?.stop());

/** The version of the programs that are installed here, and of the server: pg_dump must not be older. */
const installed = Number(/\d+/u.exec(spawnSync("pg_dump", ["--version"], { encoding: "utf8" }).stdout ?? "")?.[0] ?? 0);
const url = (await server?.create()) ?? "";
const version =
  server === undefined
    ? 0
    : await withClient(url, async (client) => {
        const { rows } = await client.query("SHOW server_version_num");
        return Math.floor(Number(rows[0]?.server_version_num) / 10_000);
      });

describe.skipIf(server === undefined || installed < version)("docs/operate/outgrowing-one-file.md", () => {
  it("describes a backup and a restore into a new database, which verify accepts and a server reads", async () => {
    const storage = await createPostgresStorage(url);
    await storage.sessions.create(sessionRecord("s1"));
    await storage.runs.admit(runRecord("r1", "s1"));
    const before = await storage.sessions.search({ limit: 9, offset: 0 });
    await storage.close();
    const folder = mkdtempSync(join(tmpdir(), "millrace-backups-"));
    const restored = new URL(url);
    restored.pathname += "_restored";
    const maintenance = new URL(url);
    maintenance.pathname = "/postgres";
    const [, dump = "", restore = ""] =
      /## Backup and restore\n+```sh\n([\s\S]*?)```[\s\S]*?```sh\n([\s\S]*?)```/u.exec(page) ?? [];
    const lines =
      `millrace() { "${process.execPath}" "${join(projectFolder, "bin/millrace.cjs")}" "$@"; }\n${dump}${restore}`
        .replaceAll("postgres://millrace:a-long-secret@db:5432/millrace_restored", `'${restored.href}'`)
        .replaceAll("postgres://millrace:a-long-secret@db:5432/millrace", `'${url}'`)
        .replaceAll("postgres://postgres@db:5432/postgres", `'${maintenance.href}'`)
        .replaceAll("--owner=millrace millrace_restored", `--owner=${restored.username} ${restored.pathname.slice(1)}`)
        .replaceAll(/\$\(date \+%F\)|2026-11-26/gu, "monday")
        .replaceAll("/backups/", `${folder}/`);
    try {
      const { status, stdout, stderr } = spawnSync("bash", ["-euo", "pipefail", "-c", lines], {
        cwd: folder,
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...programEnvironment, HOME: folder },
      });
      expect([status, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/is sound: 1 session\(s\), 1 run\(s\)/u);
      const again = await createPostgresStorage(restored.href);
      expect(await again.sessions.search({ limit: 9, offset: 0 })).toEqual(before);
      await again.close();
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
