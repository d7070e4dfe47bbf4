import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "../support/source-files.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

/** Every route of the contract: what LangGraph's server answers, and what its SDKs send. */
const contract = `
  GET /ok
  GET /info
  POST /internal/truncate
  POST /ui/:agent
  GET /ui/:agent/:basename
  POST /assistants
  POST /assistants/search
  POST /assistants/count
  GET /assistants/:assistant_id
  PATCH /assistants/:assistant_id
  DELETE /assistants/:assistant_id
  GET /assistants/:assistant_id/graph
  GET /assistants/:assistant_id/schemas
  GET /assistants/:assistant_id/subgraphs
  GET /assistants/:assistant_id/subgraphs/:namespace
  POST /assistants/:assistant_id/versions
  POST /assistants/:assistant_id/latest
  POST /threads
  POST /threads/search
  POST /threads/count
  POST /threads/prune
  GET /threads/:thread_id
  PATCH /threads/:thread_id
  DELETE /threads/:thread_id
  POST /threads/:thread_id/copy
  GET /threads/:thread_id/state
  POST /threads/:thread_id/state
  PATCH /threads/:thread_id/state
  GET /threads/:thread_id/state/:checkpoint_id
  POST /threads/:thread_id/state/checkpoint
  GET /threads/:thread_id/history
  POST /threads/:thread_id/history
  GET /threads/:thread_id/stream
  POST /threads/:thread_id/commands
  POST /threads/:thread_id/stream/events
  GET /threads/:thread_id/stream/events
  POST /threads/:thread_id/runs
  POST /threads/:thread_id/runs/stream
  POST /threads/:thread_id/runs/wait
  GET /threads/:thread_id/runs
  GET /threads/:thread_id/runs/:run_id
  DELETE /threads/:thread_id/runs/:run_id
  GET /threads/:thread_id/runs/:run_id/join
  GET /threads/:thread_id/runs/:run_id/stream
  POST /threads/:thread_id/runs/:run_id/cancel
  POST /runs/cancel
  POST /runs
  POST /runs/stream
  POST /runs/wait
  GET /runs/:run_id/stream
  POST /runs/batch
  POST /runs/crons
  POST /threads/:thread_id/runs/crons
  POST /runs/crons/search
  POST /runs/crons/count
  PATCH /runs/crons/:cron_id
  DELETE /runs/crons/:cron_id
  PUT /store/items
  GET /store/items
  DELETE /store/items
  POST /store/items/search
  POST /store/namespaces
`
  .trim()
  .split("\n")
  .map((line) => line.trim());

/** Routes of this server that every client may use, whatever graphs are served. */
const own = `
  GET /me
  GET /feed
  GET /approvals
  GET /graphs
  GET /runs
  GET /runs/histogram
`
  .trim()
  .split("\n")
  .map((line) => line.trim());

/** Their ids may be any text, so that no request is invalid. */
const takesAnything = new Set([
  "GET /assistants/:assistant_id",
  "GET /assistants/:assistant_id/schemas",
  "GET /ui/:agent/:basename",
]);

const read = (path: string): string => readFileSync(join(projectFolder, path), "utf8");
const rows = read("docs/api/wire.md")
  .split("\n")
  .filter((line) => /^\| `[A-Z]+ \//u.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, route = "", answers = "", tests = ""]) => ({
    route: route.replaceAll("`", ""),
    answers: [...answers.matchAll(/\d{3}/gu)].map(([status]) => status),
    isServed: !answers.includes("not served"),
    files: [...tests.matchAll(/`([^`]+)`/gu)].map(([, file]) => file ?? ""),
  }));

const Document = z.looseObject({
  paths: z.record(
    z.string(),
    z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.looseObject({})) })),
  ),
});

describe("docs/api/wire.md", () => {
  let server: TestServer;
  beforeAll(async () => {
    // With every optional route.
    server = await startTestServer({ allowTruncate: true });
  });
  afterAll(() => server.remove());

  it("has one row for each route of the contract and of this server's own, and no other", () => {
    expect(rows.map(({ route }) => route).toSorted()).toEqual([...contract, ...own].toSorted());
  });

  it("names, for each answer of each route, a test whose title begins with the two", () => {
    const served = rows.filter(({ isServed }) => isServed);
    expect(served.filter(({ answers, files }) => answers.length === 0 || files.length === 0)).toEqual([]);
    const missing = served.flatMap(({ route, answers, files }) => {
      const texts = files.map((file) => (existsSync(join(projectFolder, file)) ? read(file) : ""));
      const isTitle = (answer: string): boolean => texts.some((text) => text.includes(`"${route} ${answer}`));
      return answers.filter((answer) => !isTitle(answer)).map((answer) => `${route} ${answer}`);
    });
    expect(missing).toEqual([]);
  });

  it("has every answer that the server describes, and every route that it serves", async () => {
    const { paths } = Document.parse(await (await server.send("GET", "/openapi.json")).json());
    const described = new Map(
      Object.entries(paths).flatMap(([path, operations]) =>
        Object.entries(operations).map(([method, { responses }]) => {
          const route = `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/gu, ":$1")}`;
          // Answers that any route may give are listed above the table, and referenced in the description.
          const own = Object.entries(responses).filter(([, response]) => !("$ref" in response));
          return [route, own.map(([status]) => status)] as const;
        }),
      ),
    );
    const missing = rows.flatMap(({ route, answers, isServed }) => {
      const statuses = described.get(route) ?? [];
      if (isServed !== described.has(route)) return [`${route} is ${isServed ? "not " : ""}served`];
      return statuses
        .filter((status) => !answers.includes(status) && !(status === "400" && takesAnything.has(route)))
        .filter((status) => !(status === "200" && answers.includes("101")))
        .map((status) => `${route} ${status}`);
    });
    expect(missing).toEqual([]);
  });
});
